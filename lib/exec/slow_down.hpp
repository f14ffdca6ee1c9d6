// The deliberate slow-down of a device: since when, and by how much. The worker says when samples
// begin and how much is done; the backend decides how the device is stalled. Used only by the
// device's worker thread.
#pragma once

#include <optional>

#include "lib/device/handicap.hpp"

namespace mgpu {

class SlowDown {
 public:
  explicit SlowDown(const Handicap& handicap = {});
  const Handicap& handicap() const { return handicap_; }

  // Begins a sample. Outside samples only a slow-down from the very start applies, so that loading
  // and probing see the same speed as the sample.
  void begin_sample(Nanos begin);
  // Tells whether the slow-down still waits for a share of the sample's items to finish; reached()
  // reports shares, and starts it.
  bool waits_for_share() const { return in_sample_ && !from_ && handicap_.slows(); }
  void reached(double share, Nanos now);
  void end_sample();

  // Returns the host time since which it is slowed; none: it is not.
  std::optional<Nanos> from() const { return from_; }
  // Returns how much longer a kernel takes that would run from `started` to `ended` (host clock);
  // only the time since the slow-down began counts.
  Nanos extra(Nanos started, Nanos ended) const;

 private:
  Handicap handicap_;
  bool in_sample_ = false;
  std::optional<Nanos> from_;
};

}  // namespace mgpu
