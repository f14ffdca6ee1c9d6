// Summarises one problem in several sizes: how the rate depends on the size, and the size from
// which more devices are faster.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/report/record.hpp"
#include "lib/report/table_writer.hpp"
#include "lib/report/text_table.hpp"

namespace mgpu {

// Time of one size on some number of devices.
struct SweepCell {
  Summary time;
  // False: predicted for devices like the present ones; `time` is then a single number.
  bool measured = true;
};

struct SweepRow {
  std::string size;  // "2^20", "4096"
  double ops = 0;
  // Cells by SizeSweep::counts; none: neither measured nor predictable.
  std::vector<std::optional<SweepCell>> cells;
};

// One suite in one mode. The fastest strategy counts.
struct SizeSweep {
  std::string title;      // "merkle, resident"
  std::string size_name;  // "leaves"; "cols=inner=rows" if several vary together
  std::string rate_unit;
  std::vector<std::size_t> counts;  // ascending; 1 is the fastest single device
  std::vector<SweepRow> rows;       // ascending by work
  std::string bound;                // why larger counts are not predicted; empty: they are
};

// Returns a sweep for every suite and mode with three sizes or more. Counts up to 8 that were not
// measured are predicted if everything needed is known: resident samples of GPUs.
std::vector<SizeSweep> size_sweeps(const Report& report);

// Tells whether the sizes were requested as a sweep, whose sentences then replace those of every
// table.
bool is_sweep(const Report& report);

// Returns, for each count above 1, the size from which it is faster than any smaller count, by more
// than the noise, at that and all larger sizes.
std::vector<std::string> sweep_sentences(const SizeSweep& sweep);

// Returns tables with their sentences; empty without a sweep.
std::string sweep_tables(const Report& report, const TableStyle& style);

}  // namespace mgpu
