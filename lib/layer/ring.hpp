// A buffer of bytes from one thread of the program to the collector.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace mgpu::layer {

// What a thread hands over: this head, and then a record of the log.
struct Entry {
  std::uint32_t bytes;  // of the entry, a multiple of 16
  std::uint32_t flags;  // EntryFlags
  // By kind of the record: the event of a command, the name of a call, the handle of a device.
  const void* handle;
};
enum EntryFlags : std::uint32_t { kFiller = 1, kInOrder = 2 };

class Ring {
 public:
  static constexpr std::size_t kBytes = std::size_t{1} << 19;

  Ring() : bytes_(new std::byte[kBytes]) {}

  // Returns the place for an entry of so many bytes; null: there is no room. To be called by the
  // writing thread, like publish.
  std::byte* reserve(std::size_t bytes) {
    const std::uint64_t at = written_.load(std::memory_order_relaxed);
    const std::size_t offset = at % kBytes;
    const std::size_t to_end = kBytes - offset;
    const std::size_t filler = bytes <= to_end ? 0 : to_end;  // an entry does not wrap around
    if (at + filler + bytes - read_seen_ > kBytes) {
      read_seen_ = read_.load(std::memory_order_acquire);
      if (at + filler + bytes - read_seen_ > kBytes) return nullptr;
    }
    if (filler != 0)
      new (bytes_.get() + offset) Entry{static_cast<std::uint32_t>(filler), kFiller, nullptr};
    reserved_ = at + filler + bytes;
    return bytes_.get() + (at + filler) % kBytes;
  }
  // Makes the reserved entry visible. Returns whether the ring has become half full.
  bool publish() {
    const std::uint64_t before = written_.load(std::memory_order_relaxed);
    written_.store(reserved_, std::memory_order_release);
    return before / (kBytes / 2) != reserved_ / (kBytes / 2);
  }
  // Calls `take(entry, record)` for every entry. One thread at a time.
  template <class Take>
  void drain(const Take& take) {
    std::uint64_t at = read_.load(std::memory_order_relaxed);
    const std::uint64_t end = written_.load(std::memory_order_acquire);
    while (at != end) {
      const std::byte* place = bytes_.get() + at % kBytes;
      const auto& entry = *reinterpret_cast<const Entry*>(place);
      if ((entry.flags & kFiller) == 0) take(entry, place + sizeof(Entry));
      at += entry.bytes;
    }
    read_.store(at, std::memory_order_release);
  }

 private:
  std::unique_ptr<std::byte[]> bytes_;
  alignas(64) std::atomic<std::uint64_t> written_{0};
  std::uint64_t reserved_ = 0, read_seen_ = 0;  // of the writing thread
  alignas(64) std::atomic<std::uint64_t> read_{0};
};

}  // namespace mgpu::layer
