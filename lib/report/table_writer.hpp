// Tables for a terminal: aligned text with units. Scripts read JSON, never these.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/quote.hpp"
#include "lib/device/capability.hpp"
#include "lib/report/record.hpp"

namespace mgpu {

struct TableStyle {
  unsigned width = 100;  // columns available
  bool color = false;    // nothing is said by colour alone
  bool wraps = false;    // prose is broken at the width: a person reads it, not a program
  std::vector<std::string> columns =
      {};  // of run_column_names(), those of run_tables() besides strategy and devices, however
           // wide; likewise of comparison_column_names(); empty: as many as there is room for
};

// `measured`: by device; columns for it appear when something is known of one of them.
std::string device_table(std::span<const Device> devices, const TableStyle& style,
                         std::span<const std::optional<Capability>> measured = {});

struct CalibrationRow {
  Device device;
  std::optional<Capability> capability;
  std::optional<Bytes> free_memory;
  std::string from;  // "measured", "cached"; why there is none
};
// Everything that was measured of each device alone. Transfers are those of pinned memory unless
// the column says otherwise.
std::string calibration_table(std::span<const CalibrationRow> calibrated, const TableStyle& style);

struct SuiteRateRow {
  std::string suite, device, rate;  // "merkle", "0:0", "2.5 Mnodes/s"
  Nanos slice;                      // what each slice takes besides; 0: too little to be measured
  std::string from;
};
// What each suite was measured to reach on each device.
std::string suite_rate_table(std::span<const SuiteRateRow> rates, const TableStyle& style);

// What each pair of devices carries; ids in the order of `links`. `from`: where the figures come
// from.
std::string peer_links_table(std::span<const Device> devices, const PeerLinks& links,
                             const std::string& from, const TableStyle& style);

// One table per suite, parameters, mode; one row per strategy and device set: time with its spread,
// rate, speed-up, efficiency, balance, bottleneck, verification. The row that is fastest by more
// than the noise is marked with '*', several that share the first place with '=', one that cannot
// be ranked with '?', one that something is wrong with '!'. Below them which columns had no room,
// what became of devices that failed, and devices that were measured under a handicap.
std::string run_tables(const Report& report, const TableStyle& style);
// The same in pieces, for who prints a table as soon as its rows are there: each table, and what
// comes below the last one.
std::vector<std::string> separate_run_tables(const Report& report, const TableStyle& style);
std::string below_run_tables(const Report& report, const TableStyle& style);
// "time", "rate", ...: what a user chooses columns by, in their order.
std::vector<std::string> run_column_names();
// "balance" for perfect_balance, "transfers" for free_transfers: what people are shown of the names
// of what-ifs.
std::string what_if_word(const std::string& name);
// "measured 2026-11-23T16:35:23Z on HOST with mgpu-bench 0.2.0"; simulated where no device was;
// empty where the file has no date.
std::string measured_words(const Report& report);
// Lines longer than the width broken between words, what follows `indent` columns in. Unchanged
// unless the style wraps.
std::string wrapped_prose(const std::string& text, const TableStyle& style, std::size_t indent);
struct SummaryLine {
  std::string title, text;
};
// Returns what won in each table, by how much, and what holds it back; of a sweep of sizes from
// which size on more devices are faster. What a result file has under "summary".
std::vector<SummaryLine> summary_of(const Report& report);
// One closing paragraph per table: what won, by how much, what holds it back, what was lost and
// what that cost.
std::string closing_words(const Report& report);

// Collects notes on rows of a table, each once, with the rows it is about. Internal to lib/report.
class RowNotes {
 public:
  void add(const std::string& what, const std::string& row) {
    auto at = std::find_if(notes_.begin(), notes_.end(),
                           [&](const auto& known) { return known.first == what; });
    if (at == notes_.end()) at = notes_.insert(at, {what, {}});
    if (std::find(at->second.begin(), at->second.end(), row) == at->second.end())
      at->second.push_back(row);
  }
  // f(what, "equal, dynamic and guided") in the order of their first rows; "all" for several that
  // are all `of` rows there are.
  template <typename F>
  void each(std::size_t of, F f) const {
    for (const auto& [what, rows] : notes_)
      f(what, rows.size() > 1 && rows.size() == of ? std::string("all") : first_few(rows));
  }

 private:
  std::vector<std::pair<std::string, std::vector<std::string>>> notes_;
};

}  // namespace mgpu
