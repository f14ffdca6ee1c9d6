// `--require 'efficiency>=0.9'`: what a result must reach, without another one to compare it with.
// Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/report/record.hpp"

namespace mgpu {

struct Requirement {
  std::string text;   // as written
  std::string scope;  // "": every case; "best": the fastest of each table; else a strategy
  std::string metric;
  enum class Relation { at_least, at_most, above, below } relation = Relation::at_least;
  double bound = 0;  // time: nanoseconds
};

// One or several with commas between: [best:|STRATEGY:]METRIC RELATION NUMBER. METRIC is time (the
// bound is a duration, 2ms), rate, faults or disturbed (how many devices failed in a case, and
// samples with them), or one of `list metrics`; RELATION is >=, <=, > or <. `from` names the
// option. Throws Error(usage) that says what is accepted.
std::vector<Requirement> parse_requirements(std::string_view from, std::string_view text);

struct Miss {
  std::optional<std::size_t> run;  // of the report; none when no case was in the scope
  std::string what;                // "merkle ...: efficiency is 0.83, required is efficiency>=0.9"
  bool inconclusive = false;       // the figure is known too badly to say that it is reached
};

// Returns what is not reached. Cases that are not ok have no figures and are judged by their
// status, not here; a figure that is undefined is missed, and so is a requirement that no case is
// in the scope of: a gate must not pass on nothing. A metric that is made of measured times reaches
// a bound only with its whole 95 % interval, unless the clock was a virtual one; where the figure
// alone does, or is beyond what it can be, it is inconclusive.
std::vector<Miss> misses(const Report& report, const std::vector<Requirement>& requirements);

}  // namespace mgpu
