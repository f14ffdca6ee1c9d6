// Tables of devices: properties and measured rates.
#include <fmt/format.h>

#include <algorithm>

#include "lib/base/quantity.hpp"
#include "lib/report/scale.hpp"
#include "lib/report/table_writer.hpp"
#include "lib/report/text_table.hpp"

namespace mgpu {

namespace {

using Measured = std::span<const std::optional<Capability>>;

// A column with one figure of every device in one unit; "-" if unknown.
struct FigureColumn {
  TextColumn column;
  std::vector<std::string> cells;
};

FigureColumn rate_column(Measured measured, const char* name, const char* unit,
                         double Capability::*member, int importance) {
  double smallest = 0, largest = 0;
  for (const auto& device : measured) {
    if (!device || (*device).*member <= 0) continue;
    smallest = smallest > 0 ? std::min(smallest, (*device).*member) : (*device).*member;
    largest = std::max(largest, (*device).*member);
  }
  const Scale scale = rate_scale(smallest, largest);
  FigureColumn figures{{name, largest > 0 ? scale.prefix + unit : "", true, importance, false}, {}};
  for (const auto& device : measured)
    figures.cells.push_back(device && (*device).*member > 0 ? scale.format((*device).*member)
                                                            : "-");
  return figures;
}

FigureColumn launch_column(Measured measured, const char* name, Nanos Capability::*member,
                           int importance) {
  FigureColumn figures{{name, "us", true, importance, false}, {}};
  for (const auto& device : measured) {
    const auto ns = device ? static_cast<double>(((*device).*member).count()) : 0.0;
    figures.cells.push_back(ns > 0 ? fmt::format("{:.1f}", ns / 1000) : "-");
  }
  return figures;
}

void append(const std::vector<FigureColumn>& figures, std::vector<TextColumn>& columns,
            std::vector<TextRow>& rows) {
  for (const FigureColumn& figure : figures) {
    columns.push_back(figure.column);
    for (std::size_t k = 0; k < rows.size(); ++k) rows[k].cells.push_back(figure.cells[k]);
  }
}

std::string drawn(std::vector<TextColumn> columns, std::vector<TextRow> rows,
                  const TableStyle& style) {
  std::vector<std::string> hidden;
  const std::string table =
      draw_table(std::move(columns), std::move(rows), style.width, style.color, hidden);
  return table + hidden_line(hidden, "a wider terminal, or --json", style.width);
}

}  // namespace

std::string device_table(std::span<const Device> devices, const TableStyle& style,
                         Measured measured) {
  std::vector<TextRow> rows;
  for (std::size_t k = 0; k < devices.size(); ++k) {
    const Device& d = devices[k];
    rows.push_back(
        {{std::to_string(k), d.id, std::string(to_string(d.type)), d.name,
          format_bytes(static_cast<double>(d.global_memory)), std::to_string(d.compute_units),
          std::to_string(d.clock_mhz), fmt::format("{:.1f}", d.score), d.pci.value_or("-"),
          d.numa_node ? std::to_string(*d.numa_node) : "-", d.platform, d.driver_version},
         ""});
  }
  std::vector<TextColumn> columns = {
      {"rank", "", true, 0, false},      {"id", "", false, 0, false},
      {"type", "", false, 70, false},    {"name", "", false, 0, true},
      {"memory", "", true, 60, false},   {"units", "", true, 50, false},
      {"clock", "MHz", true, 40, false}, {"score", "0-100", true, 80, false},
      {"pci", "", false, 45, false},     {"numa", "", true, 10, false},
      {"platform", "", false, 30, true}, {"driver", "", false, 20, true}};
  if (std::any_of(measured.begin(), measured.end(),
                  [](const auto& device) { return device.has_value(); })) {
    append({rate_column(measured, "fp32", "FLOP/s", &Capability::fp32_flops, 58),
            rate_column(measured, "copy", "B/s", &Capability::memory_bytes_per_s, 57),
            rate_column(measured, "up", "B/s", &Capability::pinned_up, 56),
            rate_column(measured, "down", "B/s", &Capability::pinned_down, 55)},
           columns, rows);
  }
  return drawn(std::move(columns), std::move(rows), style);
}

std::string calibration_table(std::span<const CalibrationRow> calibrated, const TableStyle& style) {
  std::vector<std::optional<Capability>> measured;
  std::vector<TextRow> rows;
  for (const CalibrationRow& row : calibrated) {
    measured.push_back(row.capability);
    rows.push_back({{row.device.id, row.device.name}, ""});
  }
  std::vector<TextColumn> columns = {{"id", "", false, 0, false}, {"name", "", false, 0, true}};
  append({rate_column(measured, "fp32", "FLOP/s", &Capability::fp32_flops, 0),
          rate_column(measured, "fp64", "FLOP/s", &Capability::fp64_flops, 80),
          rate_column(measured, "int32", "op/s", &Capability::int32_ops, 75),
          rate_column(measured, "copy", "B/s", &Capability::memory_bytes_per_s, 0),
          rate_column(measured, "up", "B/s", &Capability::pinned_up, 0),
          rate_column(measured, "down", "B/s", &Capability::pinned_down, 0),
          rate_column(measured, "pageable up", "B/s", &Capability::pageable_up, 30),
          rate_column(measured, "pageable down", "B/s", &Capability::pageable_down, 29),
          launch_column(measured, "launch", &Capability::launch, 70),
          launch_column(measured, "queued", &Capability::next_launch, 65)},
         columns, rows);
  columns.push_back({"free", "", true, 50, false});
  columns.push_back({"from", "", false, 0, false});
  for (std::size_t k = 0; k < rows.size(); ++k) {
    const auto& free = calibrated[k].free_memory;
    rows[k].cells.push_back(free ? format_bytes(static_cast<double>(*free)) : "-");
    rows[k].cells.push_back(calibrated[k].from);
  }
  return drawn(std::move(columns), std::move(rows), style);
}

std::string peer_links_table(std::span<const Device> devices, const PeerLinks& links,
                             const std::string& from, const TableStyle& style) {
  std::vector<TextColumn> columns{{"from", "", false, 0, false}};
  std::vector<TextRow> rows;
  bool alike = true;  // all have the same path
  for (std::size_t i = 0; i < devices.size(); ++i) {
    for (std::size_t k = 0; k < devices.size(); ++k)
      alike &= i == k || links.of(i, k).path == links.of(0, 1).path;
  }
  for (std::size_t i = 0; i < devices.size(); ++i) {
    columns.push_back({devices[i].id, "", true, 0, false});
    TextRow& row = rows.emplace_back(TextRow{{devices[i].id}, ""});
    for (std::size_t k = 0; k < devices.size(); ++k) {
      const PeerLink& link = links.of(i, k);
      const std::string figures =
          fmt::format("{:.2f}, {:.1f}", link.bytes_per_s / 1e9, seconds(link.latency) * 1e6);
      row.cells.push_back(i == k  ? "-"
                          : alike ? figures
                                  : fmt::format("{}, {}", figures, to_string(link.path)));
    }
  }
  const std::string path = alike ? fmt::format(", {} path", to_string(links.of(0, 1).path)) : "";
  return wrapped_prose(fmt::format("between devices{} (row = source, column = destination): GB/s "
                                   "each way while both send, zero-byte exchange latency in us "
                                   "({})\n",
                                   path, from),
                       style, 2) +
         drawn(std::move(columns), std::move(rows), style);
}

std::string suite_rate_table(std::span<const SuiteRateRow> rates, const TableStyle& style) {
  std::vector<TextRow> rows;
  for (const SuiteRateRow& row : rates)
    rows.push_back({{row.suite, row.device, row.rate,
                     row.slice > Nanos{} ? format_duration(row.slice) : "-", row.from},
                    ""});
  return drawn({{"suite", "", false, 0, false},
                {"id", "", false, 0, false},
                {"rate", "", true, 0, false},
                {"per slice", "", true, 20, false},
                {"from", "", false, 0, false}},
               std::move(rows), style);
}

}  // namespace mgpu
