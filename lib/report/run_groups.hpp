// Groups the runs of a report into tables and names them. Internal to lib/report.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "lib/report/record.hpp"

namespace mgpu {

// Titles of the tables of a report: the sizes, and the parameters that differ from their defaults
// or between runs of the suite. A file without defaults gets all parameters. Refers to the report.
class Titles {
 public:
  explicit Titles(const Report& report);
  // Returns "merkle leaves=2^20 tree=rfc6962, resident".
  std::string of(const RunRecord& run) const;

 private:
  bool is_named(const RunRecord& run, const std::string& name, const ParamValue& value) const;

  const Report& report_;
  // Parameters that differ between runs, by suite.
  std::map<std::string, std::set<std::string>> varying_;
};

// Tells whether this number of the run equals its size, which is its default, like the sides of a
// square.
bool follows_size(const Report& report, const RunRecord& run, const std::string& name);

// The rank of a row in its table.
enum class Rank {
  none,    // not ok, or slower than the fastest
  alone,   // the fastest by more than the noise
  shared,  // one of several that are fastest: their intervals overlap
  unknown  // see why_unranked()
};

// Runs of the same suite, parameters and mode, in the order of the report.
struct RunGroup {
  std::string title;
  std::vector<const RunRecord*> runs;
  // "dynamic", or "dynamic:chunks=32" if two differ only by that; "auto (dynamic)".
  std::vector<std::string> labels;
  std::vector<Rank> ranks;
  bool doubted = false;  // a row that cannot be ranked may be faster than the first place
  // The first of the rows that are ok with the least median; null when none is ok.
  const RunRecord* best = nullptr;

  // Returns the labels, with numbers of devices, "equal (2 devices)", if these differ.
  std::vector<std::string> names() const;
  // Returns the rows with that rank, as indices into `runs`, fastest first.
  std::vector<std::size_t> ranked(Rank rank) const;
};

inline constexpr std::size_t kFewestRanked = 3;  // samples: the interval of fewer says nothing

// Returns why the times of a case are no basis for a ranking or for a verdict of compare; empty if
// they are one. Tables, sentences and comparisons have no other rule.
std::string why_unranked(const RunRecord& run);

// Tells whether medians are distinguishable: whether their 95 % intervals do not overlap.
bool told_apart(const Summary& a, const Summary& b);

// Groups the runs; the groups point into `report`.
std::vector<RunGroup> group_runs(const Report& report);

}  // namespace mgpu
