// Files from before there was telemetry have none of these keys.
#include "lib/report/telemetry_json.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "lib/report/json_reader.hpp"
#include "lib/report/json_text.hpp"

namespace mgpu {

namespace {

using Json = nlohmann::ordered_json;

Json text(const std::string& s) { return s.empty() ? Json(nullptr) : Json(s); }
std::string read_text(const JsonReader& j) { return j.is_null() ? std::string() : j.string(); }

TelemetryFigures read_figures_of_one(const JsonReader& j) {
  TelemetryFigures f;
  f.of = j.at("of").string();
  f.readings = j.at("readings").integer<std::size_t>();
  f.throttle = throttle_bits(j.at("throttle").strings());
  f.throttled_samples = j.at("throttled_samples").integer<std::size_t>();
  f.energy_j = j.at("energy_j").optional([](const JsonReader& v) { return v.number(); });
  for (const GaugeInfo& gauge : kGaugeTable) {
    if (!j.has(gauge.name)) continue;
    const JsonReader figures = j.at(gauge.name);
    f.gauges[static_cast<std::size_t>(gauge.gauge)] = GaugeFigures{
        figures.at("min").number(), figures.at("mean").number(), figures.at("max").number()};
  }
  return f;
}

}  // namespace

void put_telemetry(const TelemetryRecord& record, Json& report) {
  report["telemetry"] = nullptr;
  report["telemetry_reason"] = text(record.reason);
  if (record.interval <= Nanos{}) return;
  Json watched = Json::array();
  for (const WatchedRecord& w : record.watched)
    watched.push_back({{"of", w.of}, {"source", text(w.source)}, {"reason", text(w.reason)}});
  report["telemetry"] = {{"interval_ns", record.interval.count()}, {"watched", std::move(watched)}};
}

TelemetryRecord read_telemetry(const JsonReader& report) {
  TelemetryRecord record;
  if (!report.has("telemetry")) {
    record.reason = "the file is older than telemetry";
    return record;
  }
  record.reason = read_text(report.at("telemetry_reason"));
  const JsonReader telemetry = report.at("telemetry");
  if (telemetry.is_null()) return record;
  record.interval = telemetry.at("interval_ns").duration();
  telemetry.at("watched").elements([&](const JsonReader& w) {
    record.watched.push_back(
        {w.at("of").string(), read_text(w.at("source")), read_text(w.at("reason"))});
  });
  return record;
}

Json figures_json(const std::vector<TelemetryFigures>& figures) {
  if (figures.empty()) return nullptr;
  Json list = Json::array();
  for (const TelemetryFigures& f : figures) {
    Json j = {{"of", f.of},
              {"readings", f.readings},
              {"throttle", throttle_words(f.throttle)},
              {"throttled_samples", f.throttled_samples},
              {"energy_j", number_json(f.energy_j)}};
    for (const GaugeInfo& gauge : kGaugeTable) {
      const auto& g = f[gauge.gauge];
      if (g)
        j[gauge.name] = {{"min", number_json(g->min)},
                         {"mean", number_json(g->mean)},
                         {"max", number_json(g->max)}};
    }
    list.push_back(std::move(j));
  }
  return list;
}

std::vector<TelemetryFigures> read_figures(const JsonReader& run) {
  std::vector<TelemetryFigures> figures;
  if (!run.has("telemetry") || run.at("telemetry").is_null()) return figures;
  run.at("telemetry").elements([&](const JsonReader& j) {
    figures.push_back(read_figures_of_one(j));
  });
  return figures;
}

void put_points(const std::vector<TelemetryPoint>& points, Json& timeline) {
  if (points.empty()) return;
  Json columns = {"of", "at_ns"}, rows = Json::array();
  for (const GaugeInfo& gauge : kGaugeTable) columns.push_back(gauge.name);
  for (const TelemetryPoint& point : points) {
    Json row = {point.of, point.reading.at.count()};
    for (const double value : point.reading.values) row.push_back(number_json(value));
    rows.push_back(std::move(row));
  }
  timeline["columns"]["telemetry"] = std::move(columns);
  timeline["telemetry"] = std::move(rows);
}

std::vector<TelemetryPoint> read_points(const JsonReader& timeline) {
  std::vector<TelemetryPoint> points;
  if (!timeline.has("telemetry")) return points;
  const std::vector<std::string> columns = timeline.at("columns").at("telemetry").strings();
  timeline.at("telemetry").elements([&](const JsonReader& row) {
    row.expect(row.json().is_array() && row.json().size() >= columns.size(), "a value per column");
    TelemetryPoint& point = points.emplace_back();
    std::size_t k = 0;
    row.elements([&](const JsonReader& value) {
      const std::string name = k < columns.size() ? columns[k++] : std::string();
      if (name == "of") point.of = value.string();
      if (name == "at_ns") point.reading.at = value.nanos();
      for (const GaugeInfo& gauge : kGaugeTable)
        if (name == gauge.name) point.reading[gauge.gauge] = value.number();
    });
  });
  return points;
}

}  // namespace mgpu
