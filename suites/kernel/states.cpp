// States alternate, so that halo items of the next round arrive in a buffer that nobody reads: one
// synchronisation per round suffices.
#include "suites/kernel/states.hpp"

#include <algorithm>

#include "lib/base/add_once.hpp"
#include "suites/kernel/layout.hpp"

namespace mgpu::kernel {

States::States(KernelWorkload& workload, DeviceResources& device)
    : workload_(workload), problem_(workload.problem()), peer_(device.peer()) {
  for (std::size_t s = 0; s < problem_.swaps.size(); ++s) {
    const Bytes bytes = problem_.args[problem_.swaps[s].in].bytes();
    initial_.push_back(device.allocate(bytes));
    states_.emplace_back(workload_.shared()[s], device, bytes);
  }
  // Probes run without exchange, so their halo items keep these initial contents, which are values
  // that a kernel expects.
  device.try_out([&](Stream& stream) {
    for (std::size_t s = 0; s < initial_.size(); ++s) {
      const Argument& in = problem_.args[problem_.swaps[s].in];
      const auto from = std::span<const std::byte>(workload_.memory()).subspan(in.host, in.bytes());
      for (Buffer* to : {initial_[s].get(), &after(s, 1), &after(s, 2)})
        stream.upload(*to, 0, from);
    }
  });
}

Buffer& States::given(std::size_t argument, std::uint32_t round) {
  const auto swap = static_cast<std::size_t>(problem_.swap_of(argument) - problem_.swaps.data());
  if (problem_.swaps[swap].out == argument) return after(swap, round + 1);
  return round == 0 ? *initial_[swap] : after(swap, round);
}

void States::begin(const Slice& slice, bool upload, Stream& stream) {
  settle(slice);
  for (std::size_t s = 0; upload && s < initial_.size(); ++s) {
    const std::size_t in = problem_.swaps[s].in;
    const std::byte* const host = workload_.memory().data() + problem_.args[in].host;
    for (const Move& move : input_moves(problem_, workload_.memory(), in, slice))
      stream.upload(*initial_[s], move.device, {host + move.host, move.length});
  }
  // Peers have finished reading the states of the previous sample.
  meet();
}

void States::settle(const Slice& slice) {
  puts_.clear();
  others_.clear();
  const std::span<const Owner> owners = workload_.owners();
  if (owner_of(owners, slice) == nullptr) return;
  for (std::size_t s = 0; s < states_.size(); ++s) {
    const Argument& in = problem_.args[problem_.swaps[s].in];
    const auto needed = [&](const Slice& who, const Slice& of) {
      std::vector<Slice> parts;
      for (const Slice& extent : problem_.extents(in, who)) {
        const Slice part{std::max(extent.begin, of.begin), std::min(extent.end, of.end)};
        if (part.begin < part.end) parts.push_back(part);
      }
      return parts;
    };
    for (const Owner& one : owners) {
      if (one.items == slice) continue;
      const std::vector<Slice> sent = needed(one.items, slice);
      for (const Slice& part : sent)
        puts_.push_back({s, one.device, part.begin * in.item(), part.size() * in.item()});
      if (!sent.empty() || !needed(slice, one.items).empty()) add_once(others_, one.device);
    }
  }
}

void States::exchange(std::uint32_t round) {
  for (const Put& put : puts_)
    peer_->put(after(put.swap, round + 1), put.begin, workload_.shared()[put.swap][round], put.to,
               put.begin, put.size);
  meet();
}

}  // namespace mgpu::kernel
