// From when on and by how much a device is slowed down on purpose. Whoever runs it says when
// samples begin and how far they are; how the device is held back is up to the backend. Used by the
// device's worker thread only.
#pragma once

#include <optional>

#include "lib/device/handicap.hpp"

namespace mgpu {

class SlowDown {
 public:
  explicit SlowDown(const Handicap& handicap = {});
  const Handicap& handicap() const { return handicap_; }

  // Outside samples only a slow-down from the very start is in force: loading and probing meet the
  // device as the sample will.
  void begin_sample(Nanos begin);
  // This share of the sample's items is finished: reached() starts a slow-down that waits for no
  // more than that.
  bool waits_for_share() const { return in_sample_ && !from_ && handicap_.slows(); }
  void reached(double share, Nanos now);
  void end_sample();

  // Slowed from this host time on; none: not, as far as is known.
  std::optional<Nanos> from() const { return from_; }
  // How much longer a kernel takes that would run from `started` to `ended` (host clock): what is
  // before the slow-down does not count.
  Nanos extra(Nanos started, Nanos ended) const;

 private:
  Handicap handicap_;
  bool in_sample_ = false;
  std::optional<Nanos> from_;
};

}  // namespace mgpu
