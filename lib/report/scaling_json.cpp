#include "lib/report/scaling_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

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

std::vector<std::string> cells_of(const ScalingRow& row, bool size) {
  std::vector<std::string> cells;
  if (size) cells.push_back(format_count(row.items));
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
  for (const ScalingRow& row : report.rows)
    if (std::find(modes.begin(), modes.end(), row.mode) == modes.end()) modes.push_back(row.mode);
  std::string text;
  for (const Mode mode : modes) {
    std::vector<TextRow> rows;
    for (const ScalingRow& strong : report.rows) {
      if (strong.mode != mode || strong.scales != Scales::strong) continue;
      const auto weak =
          std::find_if(report.rows.begin(), report.rows.end(), [&](const ScalingRow& row) {
            return row.mode == mode && row.scales == Scales::weak &&
                   row.strategy == strong.strategy && row.nodes == strong.nodes;
          });
      TextRow& row = rows.emplace_back();
      row.cells = {strong.strategy, std::to_string(strong.nodes), std::to_string(strong.devices)};
      for (std::string& cell : cells_of(strong, false)) row.cells.push_back(std::move(cell));
      if (weak == report.rows.end()) continue;
      for (std::string& cell : cells_of(*weak, true)) row.cells.push_back(std::move(cell));
    }
    if (rows.empty()) continue;
    const ScalingRow& first =
        *std::find_if(report.rows.begin(), report.rows.end(),
                      [&](const ScalingRow& row) { return row.mode == mode; });
    text += fmt::format("{}{} items={}, {}\n", text.empty() ? "" : "\n", printable(report.suite),
                        format_count(first.items), mgpu::words_of(mode));
    std::vector<TextColumn> columns = {{"strategy", "", false, 0, false},
                                       {"nodes", "", true, 0, false},
                                       {"dev", "", true, 60, false},
                                       {"time", "strong", true, 0, false},
                                       {"speedup", "x", true, 70, false, "speedup, strong"},
                                       {"efficiency", "%", true, 0, false},
                                       {"node 0", "", false, 40, false, "node 0, strong"},
                                       {"items", "weak", true, 50, false},
                                       {"time", "weak", true, 0, false},
                                       {"speedup", "x", true, 65, false, "speedup, weak"},
                                       {"efficiency", "%", true, 0, false},
                                       {"node 0", "", false, 39, false, "node 0, weak"}};
    std::vector<std::string> hidden;
    text += draw_table(std::move(columns), std::move(rows), style.width, style.color, hidden);
    text += hidden_line(hidden, "a wider terminal, or --json", style.width);
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
