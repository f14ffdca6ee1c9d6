// Repeats samples with the slices of one device on another.
#include "lib/session/integrity.hpp"

#include <algorithm>
#include <utility>

#include "lib/base/error.hpp"

namespace mgpu {

ReplaySource::ReplaySource(std::vector<std::vector<Slice>> slices)
    : slices_(std::move(slices)), given_(slices_.size(), 0) {
  for (const auto& list : slices_) left_ += list.size();
}

Answer ReplaySource::next(DeviceIndex device) {
  const auto& mine = slices_.at(device.value);
  std::size_t& given = given_[device.value];
  if (given < mine.size()) return mine[given++];
  if (left_ == 0) return Done{};
  return Wait{true};
}

void ReplaySource::finished(DeviceIndex, const Slice&, Nanos) { --left_; }

void ReplaySource::rejected(DeviceIndex, const Slice&, Items) {
  throw Error(ErrorKind::out_of_memory, "a slice does not fit the device that computes it again");
}

void ReplaySource::lost(DeviceIndex, std::span<const Slice>) {
  throw Error(ErrorKind::device, "a device was lost while results were computed again");
}

void ReplaySource::joined(DeviceIndex) {}

std::vector<std::vector<Slice>> slices_with(const RawSample& sample, std::size_t devices,
                                            std::size_t from, std::size_t to) {
  std::vector<std::vector<Slice>> slices(devices);
  for (const RawSlice& slice : sample.slices) {
    const std::size_t by = slice.device.value == from ? to : slice.device.value;
    slices[by].push_back({slice.begin, slice.end});
  }
  for (auto& list : slices) std::sort(list.begin(), list.end());
  return slices;
}

std::optional<std::size_t> outvoted(const Recomputation& original, const Recomputation& elsewhere,
                                    const Recomputation& again, bool by_third, std::size_t from,
                                    std::size_t to) {
  if (!again.digest.empty() && again.digest == elsewhere.digest) return from;
  if (by_third && again.digest == original.digest) return to;
  if (from == to) return from;  // a device alone disagrees with itself
  if (elsewhere.right != again.right && again.digest == original.digest)
    return elsewhere.right ? from : to;
  return std::nullopt;
}

}  // namespace mgpu
