// Integrity: another device computes again what a device computed, after the sample and outside its
// time. Only the slices of one device move to another: equal devices give equal bits, so that a
// merged result with another digest means that one of the two computed something else. Needs
// nothing of a suite but its digest, and works for results that are accumulated.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/exec/sample.hpp"
#include "lib/plan/slice_source.hpp"

namespace mgpu {

// Gives each device the slices of its list, in order. Throws Error(device) if a device fails, which
// ends the sample.
class ReplaySource final : public SliceSource {
 public:
  explicit ReplaySource(std::vector<std::vector<Slice>> slices);
  Answer next(DeviceIndex device) override;
  void finished(DeviceIndex device, const Slice& slice, Nanos busy) override;
  void rejected(DeviceIndex device, const Slice& slice, Items at_most) override;
  void lost(DeviceIndex device, std::span<const Slice> not_on_host) override;
  void joined(DeviceIndex device) override;

 private:
  std::vector<std::vector<Slice>> slices_;
  std::vector<std::size_t> given_;
  std::size_t left_ = 0;  // slices not finished
};

// Returns the slices of a sample by the device that computed them, in order; `to` gets those of
// `from`.
std::vector<std::vector<Slice>> slices_with(const RawSample& sample, std::size_t devices,
                                            std::size_t from, std::size_t to);

// A result, and whether it is within the reference's bound.
struct Recomputation {
  std::string digest;  // empty: there is no result
  bool right = false;
};

// Returns which of two devices computed something else, if the bits of `elsewhere` differ from
// `original`; none: not known. `original` is the sample as it was; in `elsewhere` device `to`
// computed the slices of `from`, in `again` a third device did, or `from` once more. A third device
// outvotes the one that disagrees with it. A repetition by `from` decides only if it differs from
// `original`: then `from` was wrong. Otherwise the reference decides, if it can.
std::optional<std::size_t> outvoted(const Recomputation& original, const Recomputation& elsewhere,
                                    const Recomputation& again, bool by_third, std::size_t from,
                                    std::size_t to);

}  // namespace mgpu
