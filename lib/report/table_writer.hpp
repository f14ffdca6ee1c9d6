// Tables for a terminal: aligned text with units. Scripts should read JSON instead.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/add_once.hpp"
#include "lib/base/quote.hpp"
#include "lib/device/capability.hpp"
#include "lib/report/record.hpp"

namespace mgpu {

// Columns whose name is not that of the metric that they show: metric, column.
inline constexpr std::pair<const char*, const char*> kColumnsOfMetrics[] = {
    {"speedup", "gain"}, {"efficiency", "of-ideal"}, {"bottleneck", "held-back-by"}};

struct TableStyle {
  unsigned width = 100;  // columns of the terminal
  bool color = false;    // colour never carries information alone
  bool wraps = false;    // breaks prose at the width, for a person instead of a program
  // Names of run_column_names() to show in run_tables() besides strategy and devices, however wide,
  // or of comparison_column_names(); empty: as many as fit.
  std::vector<std::string> columns = {};
  bool per_device = false;  // adds a table of the devices of each case to run_tables()
};

// Returns the devices. `measured`: by device; its columns appear if any device has figures.
std::string device_table(std::span<const Device> devices, const TableStyle& style,
                         std::span<const std::optional<Capability>> measured = {});

struct CalibrationRow {
  Device device;
  std::optional<Capability> capability;
  std::optional<Bytes> free_memory;
  std::string from;  // "measured", "cached", or why there are no figures
};
// Returns all figures of each device alone. Transfers use pinned memory unless the column says
// otherwise.
std::string calibration_table(std::span<const CalibrationRow> calibrated, const TableStyle& style);

struct SuiteRateRow {
  std::string suite, device, rate;  // "merkle", "0:0", "2.5 Mnodes/s"
  Nanos slice;                      // additional time per slice; 0: too short to measure
  std::string from;
};
// Returns the measured rate of each suite on each device.
std::string suite_rate_table(std::span<const SuiteRateRow> rates, const TableStyle& style);

// Returns the link of each pair of devices, with ids in the order of `links`. `from`: origin of the
// figures.
std::string peer_links_table(std::span<const Device> devices, const PeerLinks& links,
                             const std::string& from, const TableStyle& style);

// Returns one table per suite, parameters and mode, with one row per strategy and device set, below
// a title and the verdict (verdict_of). Columns depend only on the width and on the devices of the
// report, so that all tables of a run have the same. Marks of rows: '*' fastest by more than the
// noise, '=' one of several that share the first place, '?' cannot be ranked, '!' has a warning.
// Below the tables: hidden columns, verification, faults, and throttled devices.
std::string run_tables(const Report& report, const TableStyle& style);
// Return the same in pieces, for printing a table as soon as its rows are there: each table, and
// the text below the last one.
std::vector<std::string> separate_run_tables(const Report& report, const TableStyle& style);
std::string below_run_tables(const Report& report, const TableStyle& style);
// Returns the names by which a user chooses columns ("shares", "time", ...), in their order.
std::vector<std::string> run_column_names();
// Returns the name of a what-if for people: "balance" for perfect_balance, "transfers" for
// free_transfers.
std::string what_if_word(const std::string& name);
// Returns "measured 2026-11-23T16:35:23Z on HOST with mgpu-bench 0.2.0", or that it was simulated;
// empty if the file has no date.
std::string measured_words(const Report& report);
// Breaks lines longer than the width between words, and indents continuations by `indent` columns.
// Returns the text unchanged unless the style wraps.
std::string wrapped_prose(const std::string& text, const TableStyle& style, std::size_t indent);
struct SummaryLine {
  std::string title, text;
};
// Returns the "summary" of a result file: the verdict of each table, and what happened in its
// samples; for a sweep of sizes, the size from which more devices are faster.
std::vector<SummaryLine> summary_of(const Report& report);

// Collects notes on the rows of a table, each once, with the rows it is about. Internal to
// lib/report.
class RowNotes {
 public:
  void add(const std::string& what, const std::string& row) {
    auto at = std::find_if(notes_.begin(), notes_.end(),
                           [&](const auto& known) { return known.first == what; });
    if (at == notes_.end()) at = notes_.insert(at, {what, {}});
    add_once(at->second, row);
  }
  // Calls f(what, rows) in the order of their first rows.
  template <typename F>
  void each(F f) const {
    for (const auto& [what, rows] : notes_) f(what, rows);
  }
  // Returns "WHAT (all rows)", "WHAT (all rows but single)" or "WHAT (equal, dynamic)"; WHAT alone
  // if `all` is one row.
  static std::string with_rows(const std::string& what, std::span<const std::string> rows,
                               std::span<const std::string> all);

 private:
  std::vector<std::pair<std::string, std::vector<std::string>>> notes_;
};

}  // namespace mgpu
