// Summarises a table in sentences: what to do, what that gains, what holds it back. Internal to
// lib/report, and to whatever prints one row per table.
#pragma once

#include <string>
#include <vector>

#include "lib/report/run_groups.hpp"

namespace mgpu {

// Advice of a table about splitting its problem.
enum class Advice {
  none,          // nothing was measured, or not well enough
  split,         // the best split is faster than the best device alone
  do_not_split,  // it is slower
  tie,           // they are not distinguishable
  unknown_gain,  // the devices were not measured alone, or the speed-up is impossible
  one_device,    // no split was measured
  indivisible    // splits were requested, but all of the work went to one device
};

struct Finding {
  Advice advice = Advice::none;
  const RunRecord* split = nullptr;  // the fastest row in which several devices worked
  std::size_t row = 0;               // its index in the group
  std::string device;                // the best device alone, if known
  std::optional<Nanos> alone;        // its time
};
// Decides what the table says. `exact`: times are of a virtual clock, which has no noise.
Finding finding_of(const RunGroup& group, bool exact);

// Returns at most two sentences: "Give 0:0.0 196,608 of 262,144 leaves (75 %) and 0:0.1 the rest
// (capability): 46.8 ms, 1.33 times as fast as device 0:0.0 alone (62.4 ms)." and what holds that
// back; or why nothing can be said, and what would help.
std::vector<std::string> verdict_of(const RunGroup& group, bool exact);

// Returns what happened in the samples: rebalancing, iterations, a chain of stages, faults.
std::vector<std::string> remarks_on(const RunGroup& group);

}  // namespace mgpu
