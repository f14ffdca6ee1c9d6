// Format of calls between ranks. All ranks run the same program on machines of one kind (refused
// otherwise), so that numbers travel as they lie in memory. Ranks trust each other, as the
// processes of an MPI job do. A reader notices a damaged or truncated message when it would read
// beyond the end, allocate memory for more than the message has, or make a bool of another byte; it
// does not check enumeration values and object numbers.
#pragma once

#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "lib/base/error.hpp"
#include "lib/cluster/transport.hpp"
#include "lib/device/device.hpp"
#include "lib/device/handicap.hpp"
#include "lib/exec/backend.hpp"

namespace mgpu {

// Kind of a message; the first byte of each.
enum class Call : std::uint8_t {
  // Calls to a rank, and its answers.
  hello,  // handshake of each rank to rank 0, without being asked
  ping,   // answered at once with the clock
  pong,
  sign,    // sign of life
  settle,  // limits of waits
  enumerate,
  split,
  open,
  connect,  // the rank's part of a group of devices that exchange
  disconnect,
  allocate_shared,
  free_shared,
  awaited_by,
  mark_failed,  // a device of a group has failed
  parcel,       // data from a device of one rank to one of another
  bye,          // shutdown: rank 0 tells a rank to leave
  // Calls to an open device: carried out in order, by its own thread.
  close,
  allocate,
  part,
  free_buffer,
  kernel,
  foreign_kernel,
  parameters,
  free_kernel,
  shared_piece,
  check_exchange,
  begin_slice,
  begin_series,
  upload,
  upload_rows,
  launch,
  download,
  download_rows,
  put,
  sync,
  submit,
  take,
  probe_clock,
  setup_cost,
  free_memory,
  slow_down,
  abandon,
  // Messages back to rank 0.
  answer,     // to a call that is waited for
  completed,  // a batch
  at_rest,    // after abandon: all commands have ended
};

class Writer {
 public:
  explicit Writer(Call call) { put(call); }
  template <class T>
  requires std::is_trivially_copyable_v<T> Writer& put(const T& value) {
    append(&value, sizeof value);
    return *this;
  }
  Writer& bytes(std::span<const std::byte> bytes) {
    put(std::uint64_t{bytes.size()});
    append(bytes.data(), bytes.size());
    return *this;
  }
  Writer& text(std::string_view text) {
    return bytes(std::as_bytes(std::span(text.data(), text.size())));
  }
  // Returns room for `size` bytes, to be filled in by the caller before anything else is put.
  std::span<std::byte> room(std::size_t size) {
    put(std::uint64_t{size});
    message_.resize(message_.size() + size);
    return std::span(message_).last(size);
  }
  void reserve(std::size_t more) { message_.reserve(message_.size() + more); }
  Message take() { return std::move(message_); }

 private:
  // Does not use insert(), which constructs byte by byte if there is an allocator: 4 MiB in 3.4 ms
  // instead of 0.5.
  void append(const void* from, std::size_t size) {
    if (size == 0) return;
    const std::size_t at = message_.size();
    message_.resize(at + size);
    std::memcpy(message_.data() + at, from, size);
  }

  Message message_;
};

// Throws Error(internal) if a message cannot be what it should be.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> message) : left_(message) {}
  template <class T>
  requires std::is_trivially_copyable_v<T> T get() {
    if constexpr (std::is_same_v<T, bool>) {
      const auto byte = get<std::uint8_t>();
      if (byte > 1) fail();
      return byte == 1;
    } else {
      T value;
      std::memcpy(&value, next(sizeof value).data(), sizeof value);
      return value;
    }
  }
  // Returns how many items follow, each at least a byte long.
  std::size_t count() {
    const auto things = get<std::uint64_t>();
    if (things > left_.size()) fail();
    return things;
  }
  std::span<const std::byte> bytes() { return next(get<std::uint64_t>()); }
  std::string text() {
    const auto all = bytes();
    return {reinterpret_cast<const char*>(all.data()), all.size()};
  }
  bool is_empty() const { return left_.empty(); }

 private:
  std::span<const std::byte> next(std::size_t size) {
    if (size > left_.size()) fail();
    const auto taken = left_.first(size);
    left_ = left_.subspan(size);
    return taken;
  }
  [[noreturn]] static void fail() {
    throw Error(ErrorKind::internal, "a message of another rank is damaged or too short");
  }
  std::span<const std::byte> left_;
};

void write(Writer& out, const Error& error);
Error read_error(Reader& in);
void write(Writer& out, const Device& device);
Device read_device(Reader& in);
void write(Writer& out, const Handicap& handicap);
Handicap read_handicap(Reader& in);
void write(Writer& out, const DeviceTraits& traits);
DeviceTraits read_traits(Reader& in);
void write(Writer& out, const RawCommand& command);
RawCommand read_command(Reader& in);
void write(Writer& out, const KernelParameter& parameter);
KernelParameter read_parameter(Reader& in);

// Writes an argument of a kernel: `name` returns the other side's number of a buffer.
template <class NameOf>
void write(Writer& out, const KernelArg& arg, const NameOf& name) {
  out.put(static_cast<std::uint8_t>(arg.index()));
  std::visit(
      [&](const auto& value) {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, Buffer*>)
          out.put(std::uint64_t{value == nullptr ? 0 : name(*value)});
        else if constexpr (std::is_same_v<T, ValueBytes>)
          out.bytes(value.bytes);
        else
          out.put(value);
      },
      arg);
}

// Reads an argument of a kernel. Values of other types refer to the message, which must live as
// long.
template <class BufferOf>
KernelArg read_arg(Reader& in, const BufferOf& buffer) {
  switch (in.get<std::uint8_t>()) {
    case 0: {
      const auto name = in.get<std::uint64_t>();
      return name == 0 ? static_cast<Buffer*>(nullptr) : buffer(name);
    }
    case 1:
      return in.get<LocalBytes>();
    case 2:
      return in.get<std::uint32_t>();
    case 3:
      return in.get<std::int32_t>();
    case 4:
      return in.get<std::uint64_t>();
    case 5:
      return in.get<float>();
    case 6:
      return in.get<double>();
    default:
      return ValueBytes{in.bytes()};
  }
}

template <class T>
void write_optional(Writer& out, const std::optional<T>& value) {
  out.put(value.has_value());
  if (value) out.put(*value);
}
template <class T>
std::optional<T> read_optional(Reader& in) {
  return in.get<bool>() ? std::optional<T>(in.get<T>()) : std::nullopt;
}

}  // namespace mgpu
