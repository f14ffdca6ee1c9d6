#include "lib/report/scaling_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "lib/base/add_once.hpp"
#include "lib/base/quantity.hpp"
#include "lib/report/text_table.hpp"

namespace mgpu {
namespace {

// Returns the busiest resource of node 0 and the share of the sample for which it was in use.
std::string busiest(const ScalingRow& row) {
  if (row.time <= Nanos{}) return "-";
  const std::pair<Nanos, const char*> uses[] = {
      {row.sending, "sends"}, {row.receiving, "receives"}, {row.handing_out, "hands out"}};
  const auto& most =
      *std::max_element(std::begin(uses), std::end(uses),
                        [](const auto& a, const auto& b) { return a.first < b.first; });
  if (most.first <= Nanos{}) return "-";
  return fmt::format("{} {:.0f} %", most.second, 100 * seconds(most.first) / seconds(row.time));
}

// Returns the size in the user's unit: "2^18" of 1,024 items of 256 leaves each.
std::string size_of(const ScalingReport& report, Items items) {
  return format_count(
      static_cast<std::uint64_t>(std::llround(static_cast<double>(items) * report.units_per_item)));
}

std::vector<std::string> cells_of(const ScalingReport& report, const ScalingRow& row, bool size) {
  std::vector<std::string> cells;
  if (size) cells.push_back(size_of(report, row.items));
  if (row.time <= Nanos{}) {
    cells.insert(cells.end(), {"-", "-", "-"});
  } else {
    cells.insert(cells.end(), {format_duration(row.time), fmt::format("{:.2f}", row.speedup),
                               fmt::format("{:.1f}", 100 * row.efficiency)});
  }
  cells.push_back(busiest(row));
  return cells;
}

}  // namespace

std::string scaling_tables(const ScalingReport& report, const TableStyle& style) {
  std::vector<Mode> modes;
  for (const ScalingRow& row : report.rows) add_once(modes, row.mode);
  std::string text;
  for (const Mode mode : modes) {
    for (const Scales scales : {Scales::strong, Scales::weak}) {
      const bool weak = scales == Scales::weak;  // the size differs from row to row
      std::vector<TextRow> rows;
      const ScalingRow* first = nullptr;
      std::string above;  // the strategy of the row above, which is named once
      for (const ScalingRow& one : report.rows) {
        if (one.mode != mode || one.scales != scales) continue;
        if (first == nullptr) first = &one;
        TextRow& row = rows.emplace_back();
        row.cells = {one.strategy == above ? "" : one.strategy, std::to_string(one.nodes),
                     std::to_string(one.devices)};
        for (std::string& cell : cells_of(report, one, weak)) row.cells.push_back(std::move(cell));
        above = one.strategy;
      }
      if (rows.empty()) continue;
      const std::string size =
          weak ? fmt::format("{} {} per node", size_of(report, first->items / first->nodes),
                             report.size_unit)
               : fmt::format("{}={}", report.size_unit, size_of(report, first->items));
      text += fmt::format("{}{} {}, {}: {} scaling\n", text.empty() ? "" : "\n",
                          printable(report.suite), printable(size), mgpu::words_of(mode),
                          to_string(scales));
      std::vector<TextColumn> columns = {{"strategy", "", false, 0, false},
                                         {"nodes", "", true, 0, false},
                                         {"dev", "", true, 60, false}};
      if (weak) columns.push_back({printable(report.size_unit), "", true, 50, false});
      columns.push_back({"time", "", true, 0, false});
      columns.push_back({"speedup", "x", true, 70, false});
      columns.push_back({"efficiency", "%", true, 0, false});
      columns.push_back({"node 0", "", false, 40, false});
      std::vector<std::string> hidden;
      text += draw_table(std::move(columns), std::move(rows), style.width, style.color, hidden);
      text += hidden_line(hidden, "a wider terminal, or --json", style.width);
    }
  }
  for (const ScalingRow& row : report.rows) {
    if (row.why_not.empty()) continue;
    text += '\n' +
            printable(fmt::format("not placed: {} on {} nodes, {}: {}", row.strategy, row.nodes,
                                  to_string(row.scales), row.why_not)) +
            '\n';
    break;
  }
  return text;
}

}  // namespace mgpu
