// Prints what `trend` finds in a history as a table and as JSON (schema "trend").
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/report/table_writer.hpp"

namespace mgpu {

struct TrendRun {
  std::string result, at, commit, machine;  // commit: empty: not known
  bool operator==(const TrendRun&) const = default;
};

struct TrendPoint {
  TrendRun run;
  double value = 0;
  std::optional<double> low, high;  // 95 % interval within the run; of times only
  std::optional<double> level;      // median of its segment; none: left out
  std::string left_out;             // why it does not count; empty: it does
};

struct TrendAttribute {
  std::string name, before, after;  // "-": not known
  bool operator==(const TrendAttribute&) const = default;
};

// Attributes of the environment that are others in a run than in the one before.
struct TrendEnvironment {
  std::string result;  // the run
  std::vector<TrendAttribute> attributes;
};

enum class ChangeKind { step, drift };
const char* to_string(ChangeKind kind);

// open: the newest level is still worse than the one before the change; undone: it is not.
enum class ChangeStatus { open, acknowledged, undone };
const char* to_string(ChangeStatus status);

struct TrendChange {
  ChangeKind kind = ChangeKind::step;
  bool worse = false;
  ChangeStatus status = ChangeStatus::open;
  double shift = 0;              // relative
  double before = 0, after = 0;  // medians of both levels
  double p = 1;
  std::size_t runs_before = 0, runs_after = 0;
  std::optional<TrendRun> previous;  // the last run before the change
  TrendRun first, last;              // the change came with one of the runs from first to last
  std::vector<TrendAttribute> attributes;  // what else changed there
  std::string reason;                      // of the acknowledgement
};

struct TrendSuspect {
  TrendRun run;
  double value = 0, expected = 0, margin = 0;
  bool worse = false;
  std::size_t reruns = 0;
};

struct TrendStates {
  double low = 0, high = 0, high_share = 0;
  std::string attribute;  // goes with the state; empty: none does
  std::string value;      // its value at the higher level
  double p = 1;           // of that coincidence, corrected for all attributes and values
};

struct TrendSeries {
  std::string id, series;
  std::size_t runs = 0;  // that count
  double newest = 0;
  std::vector<TrendChange> changes;
  std::optional<TrendStates> states;
  std::optional<TrendSuspect> suspect;
  std::string note;                           // "history too short: 5 of 8 runs"
  std::vector<TrendPoint> points;             // only if asked for
  std::vector<TrendEnvironment> environment;  // only if asked for
};

// Changes of several series in the same runs.
struct TrendGroup {
  bool worse = false;
  ChangeStatus status = ChangeStatus::open;
  std::vector<std::string> series;  // ids
  double least = 0, most = 0;       // shifts
  std::optional<TrendRun> previous;
  TrendRun first, last;
  std::vector<TrendAttribute> attributes;  // those that changed in all of them
};

struct TrendReport {
  std::string tool, history, metric, unit;
  bool higher_is_better = false;
  double floor = 0;
  std::size_t runs = 0, left_out = 0;  // lines that count, and that do not
  std::vector<TrendSeries> series;
  std::vector<TrendGroup> groups;
  std::vector<std::string> warnings;

  // Tells whether there is a worsening that is neither acknowledged nor undone.
  bool alarms() const;
};

// Returns "1.05 ms" for a time in nanoseconds, "0.912" for a ratio.
std::string trend_value(const TrendReport& report, double value);
// Returns the groups with their series, two-state series, suspects, and series that are too short.
std::string trend_tables(const TrendReport& report, const TableStyle& style);
std::string trend_json(const TrendReport& report);
std::string trend_schema();

}  // namespace mgpu
