// The runs of a report that belong into one table, and how they are called there. Internal to
// lib/report.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "lib/report/record.hpp"

namespace mgpu {

// What the runs of one report are called above their tables: the sizes, and the parameters that are
// not as by default or differ between runs of the suite. Of a file without defaults every
// parameter. Refers to the report.
class Titles {
 public:
  explicit Titles(const Report& report);
  std::string of(const RunRecord& run) const;  // "merkle leaves=2^20 tree=rfc6962, resident"

 private:
  bool is_named(const RunRecord& run, const std::string& name, const ParamValue& value) const;

  const Report& report_;
  std::map<std::string, std::set<std::string>> varying_;  // by suite
};

// Whether this number of the run is that of its size, as it is unless it is given: the sides of a
// square.
bool follows_size(const Report& report, const RunRecord& run, const std::string& name);

// How the rows of a table stand to each other.
enum class Rank {
  none,    // not ok, or slower than the fastest
  alone,   // the fastest by more than the noise
  shared,  // one of several that are fastest: their intervals do not tell them apart
  unknown  // its time varies too much, was measured too seldom, or makes a speed-up that cannot be:
           // where it stands is not known
};

// Runs of one suite, parameters and mode, in the order of the report.
struct RunGroup {
  std::string title;
  std::vector<const RunRecord*> runs;
  std::vector<std::string>
      labels;  // "dynamic", or "dynamic:chunks=32" where two differ only by that; "auto (dynamic)"
  std::vector<Rank> ranks;
  bool doubted = false;  // a row that cannot be ranked may be faster than those of the first place
  const RunRecord* best = nullptr;  // of the rows that are ok the one of least median, the first of
                                    // equals; null when none is

  // Rows of that rank, by their places in `runs`; the fastest first.
  std::vector<std::size_t> ranked(Rank rank) const;
};

inline constexpr std::size_t kFewestRanked = 3;  // samples: of fewer the interval says nothing

// Medians whose 95 % intervals meet are not told apart.
bool told_apart(const Summary& a, const Summary& b);

// The groups point into `report`.
std::vector<RunGroup> group_runs(const Report& report);

}  // namespace mgpu
