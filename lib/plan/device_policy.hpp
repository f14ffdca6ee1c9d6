// When a device of a sample asks its source for work, how much it keeps in flight, and when it
// brings its results to the host. The executor's workers and the simulator drive the same object,
// so that what is predicted is what is done. Pure: no clock, no thread.
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
  // What to do now. `version` counts the events after which the source may answer otherwise
  // (SliceSource); the caller acts, says so below, and asks again.
  Action next(std::uint64_t version) const {
    if (collecting_) return Action::none;
    if (in_flight_ < kDepth && asked_at_ != version) return Action::ask;
    // Collecting waits for nothing if no more work is likely: the queues are in order, and asking
    // the device whether the last slice is finished before enqueueing what comes after it would
    // leave it idle for 50 us on an H200.
    const bool behind_the_last = answer_ != Coming::more && !rejected_last_;
    if (uncollected_ && (in_flight_ == 0 || behind_the_last)) return Action::collect;
    return Action::none;
  }

  // The source's answer to this device at `version`.
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

  // Batches of commands that were enqueued, and that ended. Other: what precedes a sample's first
  // slice, and merging. Rejected: a slice that was enqueued in part only, for want of memory.
  // Collected: its result is brought to the host by collecting.
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
  // Everyone waits: it shall ask once more though nothing has happened.
  void ask_again() { asked_at_ = 0; }

  bool collecting() const { return collecting_; }
  bool done() const { return answer_ == Coming::nothing; }  // the source said so, last
  // Nothing is in flight and all results are on the host.
  bool idle() const { return in_flight_ == 0 && !uncollected_; }
  // It would ask the source now if there were anything new.
  bool would_ask() const { return !collecting_ && in_flight_ < kDepth; }

 private:
  enum class Coming { more, likely_nothing, nothing };  // by the source's last answer

  std::size_t in_flight_ = 0;  // batches
  bool uncollected_ = false;   // slices enqueued since the last collect
  bool collecting_ = false;
  bool rejected_last_ = false;  // the last slice enqueued
  Coming answer_ = Coming::more;
  std::uint64_t asked_at_ =
      0;  // version of the last answer that was no slice; versions begin with 1
};

}  // namespace mgpu
