// What one problem in several sizes says: how the rate goes with the size, and from which size on
// more devices pay.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/report/record.hpp"
#include "lib/report/table_writer.hpp"
#include "lib/report/text_table.hpp"

namespace mgpu {

// One size on some number of devices.
struct SweepCell {
  Summary time;
  bool measured =
      true;  // false: predicted for devices like those there are; `time` is then one number
};

struct SweepRow {
  std::string size;  // "2^20", "4096"
  double ops = 0;
  std::vector<std::optional<SweepCell>>
      cells;  // by SizeSweep::counts; none: not measured, and not known
};

// One suite in one mode. Of several strategies the fastest counts.
struct SizeSweep {
  std::string title;      // "merkle, resident"
  std::string size_name;  // "leaves"; "cols=inner=rows" where several go together
  std::string rate_unit;
  std::vector<std::size_t> counts;  // ascending; 1 is the device that is fastest alone
  std::vector<SweepRow> rows;       // by work, the least first
  std::string bound;                // why larger counts are not predicted, if they are not
};

// Of every suite and mode with three sizes or more. Counts that were not measured, up to 8, are
// predicted where that takes nothing that is not known: resident samples of GPUs.
std::vector<SizeSweep> size_sweeps(const Report& report);

// Were its sizes asked for as a sweep? Its sentences then stand for those of every table.
bool is_sweep(const Report& report);

// For each count above 1 from which size on it is faster than any smaller one, by more than the
// noise, at that and all larger sizes: "2 devices pay from 2^19 leaves on".
std::vector<std::string> sweep_sentences(const SizeSweep& sweep);

// Tables with their sentences; empty where there is no sweep.
std::string sweep_tables(const Report& report, const TableStyle& style);

}  // namespace mgpu
