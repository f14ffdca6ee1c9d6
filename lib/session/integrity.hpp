// Integrity: what a device computed is computed again by another one, after the sample and outside
// its time. The slices of one device go to another, all others stay where they were; equal devices
// give equal bits, so that a merged result with another digest means that one of the two computed
// something else. Needs nothing of a suite but its digest, and works for results that are
// accumulated.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/exec/sample.hpp"
#include "lib/plan/slice_source.hpp"

namespace mgpu {

// Gives each device the slices of its list, in order. A device that is lost ends the sample:
// Error(device) from the next question.
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

// The slices of a sample by the device that computed them, in order; those of `from` are `to`'s.
std::vector<std::vector<Slice>> slices_with(const RawSample& sample, std::size_t devices,
                                            std::size_t from, std::size_t to);

// A result, and whether the reference's bound allows it.
struct Opinion {
  std::string digest;  // empty: there is no result
  bool right = false;
};

// Which of two devices computed something else, `elsewhere` being other bits than `original`: the
// sample as it was; with the slices of device `from` computed by `to`; and `again` by a third
// device, or by `from` once more. A third one outvotes the one that disagrees with it. What `from`
// does once more only tells when it is something else than before; then it was wrong. Otherwise the
// reference decides, if it can. None: nobody can be named.
std::optional<std::size_t> outvoted(const Opinion& original, const Opinion& elsewhere,
                                    const Opinion& again, bool by_third, std::size_t from,
                                    std::size_t to);

}  // namespace mgpu
