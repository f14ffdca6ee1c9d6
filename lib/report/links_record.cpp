#include "lib/report/links_record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lib/base/quantity.hpp"
#include "lib/base/stats.hpp"
#include "lib/report/text_table.hpp"

namespace mgpu {
namespace {

using Json = nlohmann::ordered_json;

Nanos median_time(std::vector<Nanos> times) {
  if (times.empty()) return Nanos{};
  std::sort(times.begin(), times.end());
  const std::size_t half = times.size() / 2;
  return times.size() % 2 == 1 ? times[half] : (times[half - 1] + times[half]) / 2;
}

Json times_json(const std::vector<Nanos>& times) {
  Json list = Json::array();
  for (const Nanos time : times) list.push_back(time.count());
  return list;
}

Json place(const std::optional<std::uint32_t>& device) { return device ? Json(*device) : Json("host"); }

std::string place_text(const std::optional<std::uint32_t>& device) { return device ? std::to_string(*device) : "host"; }

std::string gb(double bytes_per_s) {
  const double value = bytes_per_s / 1e9;
  return bytes_per_s <= 0 ? "-" : value < 9.995 ? fmt::format("{:.2f}", value) : fmt::format("{:.1f}", value);
}

std::string microseconds(const std::vector<Nanos>& times) {
  return times.empty() ? "-" : fmt::format("{:.1f}", seconds(median_time(times)) * 1e6);
}

std::string matrix_text(const LinkMatrix& matrix, std::size_t devices, const TableStyle& style, std::vector<std::string>& hidden) {
  std::vector<TextColumn> columns{{"from", "", false}};
  std::vector<std::optional<std::uint32_t>> places;
  const auto at_host = [](const LinkCell& cell) { return !cell.from || !cell.to; };
  if (std::any_of(matrix.cells.begin(), matrix.cells.end(), at_host)) places.push_back(std::nullopt);
  for (std::uint32_t i = 0; i < devices; ++i) places.push_back(i);
  for (const auto& to : places) columns.push_back({"to " + place_text(to), "GB/s"});
  std::vector<TextRow> rows;
  for (const auto& from : places) {
    TextRow& row = rows.emplace_back();
    row.cells.push_back(place_text(from));
    for (const auto& to : places) {
      const auto cell = std::find_if(matrix.cells.begin(), matrix.cells.end(),
                                     [&](const LinkCell& each) { return each.from == from && each.to == to; });
      row.cells.push_back(cell == matrix.cells.end() ? "" : gb(rate_of(matrix.bytes, cell->times)));
    }
  }
  return fmt::format("{}, {} each\n", matrix.name, format_bytes(static_cast<double>(matrix.bytes))) +
         draw_table(std::move(columns), std::move(rows), style.width, style.color, hidden);
}

// "0 to 1 direct, 1 to 0 direct", once per matrix of pairs.
std::string paths_text(const LinkMatrix& matrix) {
  std::string text;
  for (const LinkCell& cell : matrix.cells) {
    if (!cell.path) continue;
    text += fmt::format("{}{} to {} {}", text.empty() ? "paths: " : ", ", place_text(cell.from), place_text(cell.to),
                        to_string(*cell.path));
  }
  return text.empty() ? text : text + "\n";
}

std::string collectives_text(const LinksRecord& record, const TableStyle& style, std::vector<std::string>& hidden) {
  std::vector<TextColumn> columns{{"op", "", false},
                                  {"dev", ""},
                                  {"size", "B"},
                                  {"count", "", true, 20},
                                  {"type", "", false, 30},
                                  {"redop", "", false, 40},
                                  {"alone", "us"},
                                  {"back to back", "us"},
                                  {"algbw", "GB/s", true, 50},
                                  {"busbw", "GB/s"},
                                  {"#wrong", ""}};
  std::vector<TextRow> rows;
  for (const CollectiveRow& each : record.collectives) {
    TextRow& row = rows.emplace_back();
    row.cells = {each.collective, std::to_string(each.devices), std::to_string(each.bytes)};
    if (!each.skipped.empty()) {
      row.cells.push_back("skipped: " + each.skipped);
      continue;
    }
    const double rate = rate_of(each.bytes, each.back_to_back);
    for (std::string& cell : std::vector<std::string>{
             std::to_string(each.count), each.element, each.reduction.empty() ? "-" : each.reduction, microseconds(each.alone),
             microseconds(each.back_to_back), gb(rate), gb(rate * each.bus_factor), std::to_string(each.wrong)})
      row.cells.push_back(std::move(cell));
    if (each.wrong > 0) row.color = "\x1b[31m";
  }
  return draw_table(std::move(columns), std::move(rows), style.width, style.color, hidden);
}

}  // namespace

bool LinksRecord::any_wrong() const {
  return std::any_of(collectives.begin(), collectives.end(), [](const CollectiveRow& row) { return row.wrong > 0; });
}

double rate_of(Bytes bytes, const std::vector<Nanos>& times) {
  const Nanos time = median_time(times);
  return time <= Nanos{} ? 0 : static_cast<double>(bytes) / seconds(time);
}

Json links_json(const LinksRecord& record) {
  Json devices = Json::array(), matrices = Json::array(), latencies = Json::array(), collectives = Json::array();
  for (std::size_t rank = 0; rank < record.devices.size(); ++rank) {
    const Device& device = record.devices[rank];
    devices.push_back({{"rank", rank},
                       {"id", device.id},
                       {"name", device.name},
                       {"driver_version", device.driver_version},
                       {"uuid", device.uuid ? Json(*device.uuid) : Json(nullptr)}});
  }
  for (const LinkMatrix& matrix : record.matrices) {
    Json cells = Json::array();
    for (const LinkCell& cell : matrix.cells) {
      cells.push_back({{"from", place(cell.from)},
                       {"to", place(cell.to)},
                       {"path", cell.path ? Json(to_string(*cell.path)) : Json(nullptr)},
                       {"bytes_per_s", rate_of(matrix.bytes, cell.times)},
                       {"times_ns", times_json(cell.times)}});
    }
    matrices.push_back({{"name", matrix.name}, {"bytes", matrix.bytes}, {"cells", std::move(cells)}});
  }
  for (const LatencyRow& row : record.latencies)
    latencies.push_back(
        {{"devices", row.devices}, {"alone_ns", times_json(row.alone)}, {"back_to_back_ns", times_json(row.back_to_back)}});
  for (const CollectiveRow& row : record.collectives) {
    const double rate = rate_of(row.bytes, row.back_to_back);
    collectives.push_back({{"op", row.collective},
                           {"devices", row.devices},
                           {"bytes", row.bytes},
                           {"count", row.count},
                           {"type", row.element},
                           {"redop", row.reduction.empty() ? Json(nullptr) : Json(row.reduction)},
                           {"alone_ns", times_json(row.alone)},
                           {"back_to_back_ns", times_json(row.back_to_back)},
                           {"algorithm_bytes_per_s", rate > 0 ? Json(rate) : Json(nullptr)},
                           {"bus_bytes_per_s", rate > 0 && row.bus_factor > 0 ? Json(rate * row.bus_factor) : Json(nullptr)},
                           {"wrong", row.wrong},
                           {"reason", row.skipped.empty() ? Json(nullptr) : Json(row.skipped)}});
  }
  return {{"schema", "mgpu-bench/links"},
          {"schema_version", 1},
          {"started", record.started},
          {"version", record.version},
          {"peer", record.peer},
          {"devices", std::move(devices)},
          {"notes", record.notes},
          {"matrices", std::move(matrices)},
          {"everything", {{"bytes", record.everything_bytes}, {"times_ns", times_json(record.everything)}}},
          {"latencies", std::move(latencies)},
          {"collectives", std::move(collectives)}};
}

std::string links_text(const LinksRecord& record, const TableStyle& style) {
  std::vector<std::string> hidden;
  std::string text;
  for (std::size_t rank = 0; rank < record.devices.size(); ++rank)
    text += fmt::format("{}: {} ({})\n", rank, record.devices[rank].name, record.devices[rank].id);
  for (const std::string& note : record.notes) text += note + "\n";
  for (const LinkMatrix& matrix : record.matrices) {
    text += "\n" + matrix_text(matrix, record.devices.size(), style, hidden);
    if (&matrix == &record.matrices.front()) text += paths_text(matrix);
  }
  if (!record.everything.empty()) {
    const std::size_t n = record.devices.size();
    text += fmt::format("all {} ordered pairs at once: {} GB/s in all\n", n * (n - 1),
                        gb(rate_of(record.everything_bytes * n * (n - 1), record.everything)));
  }
  if (!record.latencies.empty()) text += "\n";
  for (const LatencyRow& row : record.latencies) {
    std::string who;
    for (const std::uint32_t device : row.devices) who += fmt::format("{}{}", who.empty() ? "" : " and ", device);
    text += fmt::format("{} meet in {} us alone, {} us back to back\n", row.devices.size() > 2 ? "all" : who,
                        microseconds(row.alone), microseconds(row.back_to_back));
  }
  if (!record.collectives.empty()) {
    text += "\n" + collectives_text(record, style, hidden);
    text +=
        "algbw = size / time back to back; busbw = algbw x 2 (n - 1) / n for all-reduce, (n - 1) / n for all-gather,\n"
        "reduce-scatter and all-to-all, 1 for the others\n";
  }
  return text + hidden_line(hidden, "a wider terminal shows them", style.width);
}

}  // namespace mgpu
