// `--require 'efficiency>=0.9'`: limits that a result must reach without a comparison with another
// one. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/report/record.hpp"

namespace mgpu {

struct Requirement {
  std::string text;   // as written by the user
  std::string scope;  // "": every case; "best": the fastest of each table; else a strategy
  std::string metric;
  enum class Relation { at_least, at_most, above, below } relation = Relation::at_least;
  double bound = 0;  // time: nanoseconds
};

// Parses one or several requirements, separated by commas: [best:|STRATEGY:]METRIC RELATION NUMBER.
// METRIC is time (the bound is a duration, 2ms), rate, faults or disturbed (the number of failed
// devices of a case, and of samples that they invalidated), or one of `list metrics`; RELATION is
// >=, <=, > or <. `from` names the option. Throws Error(usage) that says what is expected.
std::vector<Requirement> parse_requirements(std::string_view from, std::string_view text);

struct Miss {
  std::optional<std::size_t> run;  // index in the report; none: no case was in the scope
  std::string what;                // "merkle ...: efficiency is 0.83, required is efficiency>=0.9"
  bool inconclusive = false;       // too uncertain to say that the bound is reached
};

// Returns the requirements that are missed. Cases that are not ok have no figures and are judged by
// their status, not here. An undefined figure misses, and so does a requirement without a case in
// its scope: a gate must not pass on nothing. A metric of measured times reaches a bound only with
// its whole 95 % interval, except on a virtual clock; if only the figure reaches it, or the figure
// is impossible, the miss is inconclusive.
std::vector<Miss> misses(const Report& report, const std::vector<Requirement>& requirements);

}  // namespace mgpu
