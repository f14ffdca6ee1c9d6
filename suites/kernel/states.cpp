// States alternate, so that what comes for the next round lands where nobody reads: one meeting
// after each round is enough.
#include "suites/kernel/states.hpp"

#include <algorithm>

#include "suites/kernel/layout.hpp"

namespace mgpu::kernel {

States::States(KernelWorkload& workload, DeviceResources& device)
    : workload_(workload),
      problem_(workload.problem()),
      peer_(workload.shared(0, 0) == nullptr ? nullptr : device.peer()),
      pairs_(problem_.swaps.size()) {
  for (std::size_t s = 0; s < pairs_.size(); ++s) {
    const Bytes bytes = problem_.args[problem_.swaps[s].in].bytes();
    pairs_[s].initial = device.allocate(bytes);
    if (peer_ != nullptr) continue;
    for (auto& state : pairs_[s].own) state = device.allocate(bytes);
  }
  // Of probes, which are by themselves, items beside the slice stay what they are here: such as a
  // kernel may meet.
  device.try_out([&](Stream& stream) {
    for (std::size_t s = 0; s < pairs_.size(); ++s) {
      const Argument& in = problem_.args[problem_.swaps[s].in];
      const auto from = std::span<const std::byte>(workload_.memory()).subspan(in.host, in.bytes());
      for (Buffer* to : {pairs_[s].initial.get(), &after(s, 1), &after(s, 2)})
        stream.upload(*to, 0, from);
    }
  });
}

Buffer& States::after(std::size_t swap, std::uint32_t rounds) {
  if (peer_ != nullptr) return workload_.shared(swap, place(rounds))->piece(peer_->self());
  return *pairs_[swap].own[place(rounds)];
}

Buffer& States::given(std::size_t argument, std::uint32_t round) {
  const auto swap = static_cast<std::size_t>(problem_.swap_of(argument) - problem_.swaps.data());
  if (problem_.swaps[swap].out == argument) return after(swap, round + 1);
  return round == 0 ? *pairs_[swap].initial : after(swap, round);
}

void States::begin(const Slice& slice, bool upload, Stream& stream) {
  settle(slice);
  for (std::size_t s = 0; upload && s < pairs_.size(); ++s) {
    const std::size_t in = problem_.swaps[s].in;
    const std::byte* const host = workload_.memory().data() + problem_.args[in].host;
    for (const Move& move : input_moves(problem_, workload_.memory(), in, slice))
      stream.upload(*pairs_[s].initial, move.device, {host + move.host, move.length});
  }
  meet();  // nobody has states of the sample before to read any more
}

namespace {

Slice common(const Slice& a, const Slice& b) {
  const Items begin = std::max(a.begin, b.begin);
  return {begin, std::max(begin, std::min(a.end, b.end))};
}

}  // namespace

void States::settle(const Slice& slice) {
  others_.clear();
  if (peer_ == nullptr) return;
  const std::span<const Owner> owners = workload_.owners();
  const bool shares = std::any_of(owners.begin(), owners.end(), [&](const Owner& one) {
    return one.device == peer_->self() && one.items == slice;
  });
  if (!shares) return;
  const auto needs = [&](const Slice& who, const Slice& of) {
    return std::any_of(problem_.swaps.begin(), problem_.swaps.end(), [&](const Swap& swap) {
      const std::vector<Slice> extents = problem_.extents(problem_.args[swap.in], who);
      return std::any_of(extents.begin(), extents.end(),
                         [&](const Slice& part) { return common(part, of).size() > 0; });
    });
  };
  for (const Owner& one : owners) {
    if (one.device != peer_->self() && (needs(one.items, slice) || needs(slice, one.items)))
      others_.push_back(one);
  }
}

void States::exchange(const Slice& slice, std::uint32_t round) {
  for (std::size_t s = 0; s < pairs_.size(); ++s) {
    const Argument& in = problem_.args[problem_.swaps[s].in];
    for (const Owner& other : others_) {
      for (const Slice& extent : problem_.extents(in, other.items)) {
        const Slice sent = common(extent, slice);
        if (sent.size() == 0) continue;
        peer_->put(after(s, round + 1), sent.begin * in.item(),
                   *workload_.shared(s, place(round + 1)), other.device, sent.begin * in.item(),
                   sent.size() * in.item());
      }
    }
  }
  meet();
}

void States::meet() {
  if (others_.empty()) return;
  std::vector<DeviceIndex> devices;
  for (const Owner& other : others_) devices.push_back(other.device);
  peer_->sync(devices, devices);
}

}  // namespace mgpu::kernel
