#include "lib/cluster/served_objects.hpp"

#include <iterator>

#include "lib/exec/leak.hpp"

namespace mgpu {
namespace {

template <class Objects>
void let_go(Objects& objects, std::uint64_t number, bool may_be_in_flight) {
  const auto at = objects.find(number);
  if (at == objects.end()) return;
  if (may_be_in_flight) leak(std::move(at->second));
  objects.erase(at);
}

}  // namespace

bool ServedObjects::answer(Call call, DeviceResources& resources, Reader& in, Writer& out) {
  const auto number = [&] { return in.get<std::uint64_t>(); };
  switch (call) {
    case Call::allocate: {
      const auto name = number();
      buffers_[name] = resources.allocate(in.get<Bytes>());
      return true;
    }
    case Call::part: {
      const auto name = number();
      Buffer& whole = buffer(number());
      const auto offset = in.get<Bytes>();
      buffers_[name] = resources.part(whole, offset, in.get<Bytes>());
      return true;
    }
    case Call::shared_piece: {
      const auto name = number(), group = number();
      Piece piece;
      piece.memory = parts_.memory(group, number());
      const auto by = in.get<DeviceIndex>(), of = in.get<DeviceIndex>();
      piece.buffer = by == of ? &piece.memory->piece(of) : piece.memory->remote(by, of);
      out.put(piece.buffer != nullptr);
      if (piece.buffer != nullptr) pieces_[name] = std::move(piece);
      return true;
    }
    case Call::kernel: {
      const auto name = number();
      const std::string file = in.text(), entry = in.text();
      const auto& made = kernels_[name] = resources.kernel(file, entry, in.text());
      out.put(made->group_limits());
      return true;
    }
    case Call::foreign_kernel: {
      const auto name = number();
      KernelSource source;
      source.name = in.text();
      source.text = in.text();
      const std::string entry = in.text();
      const auto& made = kernels_[name] = resources.foreign_kernel(source, entry, in.text());
      out.put(made->group_limits());
      return true;
    }
    case Call::parameters: {
      const auto all = kernel(number()).parameters();
      out.put(all.has_value());
      if (!all) return true;
      out.put(std::uint64_t{all->size()});
      for (const KernelParameter& parameter : *all) write(out, parameter);
      return true;
    }
    default:
      return false;
  }
}

Buffer& ServedObjects::buffer(std::uint64_t number) {
  const auto piece = pieces_.find(number);
  return piece != pieces_.end() ? *piece->second.buffer : *buffers_.at(number);
}

void ServedObjects::free_buffer(std::uint64_t number, bool may_be_in_flight) {
  let_go(buffers_, number, may_be_in_flight);
  let_go(pieces_, number, may_be_in_flight);
}

void ServedObjects::free_kernel(std::uint64_t number, bool may_be_in_flight) {
  let_go(kernels_, number, may_be_in_flight);
}

void ServedObjects::leak_all() {
  leak(std::move(kernels_));
  leak(std::move(buffers_));
  leak(std::move(pieces_));
}

void ServedObjects::free_all() {
  kernels_.clear();
  pieces_.clear();
  while (!buffers_.empty()) buffers_.erase(std::prev(buffers_.end()));  // parts before the whole
}

}  // namespace mgpu
