// DevicePolicy: decides when a device of a sample asks its source for work, how many slices it
// keeps in flight, and when it collects its results. The executor's workers and the simulator drive
// the same object, so that predictions follow the same rules as execution. Pure: no clock, no
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <variant>

#include "lib/plan/slice_source.hpp"

namespace mgpu {

class DevicePolicy {
 public:
  static constexpr std::size_t kDepth =
      2;  // slices in flight: one transfers while the other computes

  enum class Action { ask, collect, none };
  // Returns the next action. `version` counts the events after which the source may answer
  // differently (SliceSource). The caller performs the action, reports it below, and calls next()
  // again.
  Action next(std::uint64_t version) const {
    if (collecting_) return Action::none;
    if (in_flight_ < kDepth && asked_at_ != version) return Action::ask;
    // If no more work is likely, collecting need not wait for the last slice: the queues are in
    // order. Checking that the slice is finished before enqueueing what follows would leave the
    // device idle for 50 us on an H200.
    const bool behind_the_last = answer_ != Coming::more && !rejected_last_;
    if (uncollected_ && (in_flight_ == 0 || behind_the_last)) return Action::collect;
    return Action::none;
  }

  // Reports the source's answer to this device at `version`.
  void answered(const Answer& answer, std::uint64_t version) {
    if (std::holds_alternative<Slice>(answer)) {
      answer_ = Coming::more;
      return;
    }
    asked_at_ = version;
    const auto* wait = std::get_if<Wait>(&answer);
    answer_ = wait == nullptr     ? Coming::nothing
              : wait->likely_last ? Coming::likely_nothing
                                  : Coming::more;
  }

  // The following report batches of commands that were enqueued or that ended. Other: what precedes
  // a sample's first slice, and merging. Rejected: a slice that was only partly enqueued, for lack
  // of memory. `collected`: the slice's result is downloaded by collecting.
  void enqueued_other() { ++in_flight_; }
  void enqueued_slice(bool collected = true) {
    ++in_flight_;
    uncollected_ = uncollected_ || collected;
    rejected_last_ = false;
  }
  void enqueued_rejected() {
    ++in_flight_;
    rejected_last_ = true;
  }
  void enqueued_collect() {
    ++in_flight_;
    collecting_ = true;
  }
  void ended() { --in_flight_; }
  void ended_collect() {
    --in_flight_;
    collecting_ = uncollected_ = false;
  }
  // Makes the device ask once more although nothing has happened, since all devices wait.
  void ask_again() { asked_at_ = 0; }

  bool collecting() const { return collecting_; }
  bool done() const { return answer_ == Coming::nothing; }  // the source's last answer was Done
  // Returns whether nothing is in flight and all results are on the host.
  bool idle() const { return in_flight_ == 0 && !uncollected_; }
  // Returns whether it would ask the source now if the version were new.
  bool would_ask() const { return !collecting_ && in_flight_ < kDepth; }

 private:
  // Expected work, by the source's last answer.
  enum class Coming { more, likely_nothing, nothing };

  std::size_t in_flight_ = 0;  // number of batches
  bool uncollected_ = false;   // slices were enqueued since the last collect
  bool collecting_ = false;
  bool rejected_last_ = false;  // the slice enqueued last was rejected
  Coming answer_ = Coming::more;
  // Version of the last answer that was no slice; versions begin with 1.
  std::uint64_t asked_at_ = 0;
};

}  // namespace mgpu
