// Files from before there was telemetry have none of these keys.
#include "lib/report/telemetry_json.hpp"

#include "lib/report/json_reader.hpp"

namespace mgpu {

namespace {

std::string read_text(const JsonReader& j) { return j.is_null() ? std::string() : j.string(); }

TelemetryFigures read_figures_of_one(const JsonReader& j) {
  TelemetryFigures f;
  f.of = j.at("of").string();
  f.readings = j.at("readings").integer<std::size_t>();
  f.throttle = throttle_bits(j.at("throttle").strings());
  f.throttled_samples = j.at("throttled_samples").integer<std::size_t>();
  f.energy_j = j.at("energy_j").optional([](const JsonReader& v) { return v.number(); });
  if (j.has("energy_reason")) f.energy_reason = read_text(j.at("energy_reason"));
  for (const GaugeInfo& gauge : kGaugeTable) {
    if (!j.has(gauge.name)) continue;
    const JsonReader figures = j.at(gauge.name);
    f.gauges[static_cast<std::size_t>(gauge.gauge)] = GaugeFigures{
        figures.at("min").number(), figures.at("mean").number(), figures.at("max").number()};
  }
  return f;
}

}  // namespace

void put_telemetry(const TelemetryRecord& record, JsonValue& report) {
  put(report, "telemetry", nullptr);
  put(report, "telemetry_reason", json_or_null(record.reason));
  if (record.interval <= Nanos{}) return;
  JsonValue watched = json_list();
  for (const WatchedRecord& w : record.watched)
    append(watched, json_object({{"of", w.of},
                                 {"source", json_or_null(w.source)},
                                 {"reason", json_or_null(w.reason)}}));
  put(report, "telemetry",
      json_object({{"interval_ns", record.interval}, {"watched", std::move(watched)}}));
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

JsonValue figures_json(const std::vector<TelemetryFigures>& figures) {
  if (figures.empty()) return {};
  JsonValue list = json_list();
  for (const TelemetryFigures& f : figures) {
    JsonValue j = json_object({{"of", f.of},
                               {"readings", f.readings},
                               {"throttle", throttle_words(f.throttle)},
                               {"throttled_samples", f.throttled_samples},
                               {"energy_j", finite_json(f.energy_j)}});
    if (!f.energy_reason.empty()) put(j, "energy_reason", f.energy_reason);
    for (const GaugeInfo& gauge : kGaugeTable) {
      const auto& g = f[gauge.gauge];
      if (g)
        put(j, gauge.name,
            json_object({{"min", finite_json(g->min)},
                         {"mean", finite_json(g->mean)},
                         {"max", finite_json(g->max)}}));
    }
    append(list, std::move(j));
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

void put_points(const std::vector<TelemetryPoint>& points, JsonValue& timeline) {
  if (points.empty()) return;
  JsonValue columns = json_list({"of", "at_ns"}), rows = json_list();
  for (const GaugeInfo& gauge : kGaugeTable) append(columns, gauge.name);
  for (const TelemetryPoint& point : points) {
    JsonValue row = json_list({point.of, point.reading.at});
    for (const double value : point.reading.values) append(row, finite_json(value));
    append(rows, std::move(row));
  }
  put_inside(timeline, "columns", "telemetry", std::move(columns));
  put(timeline, "telemetry", std::move(rows));
}

std::vector<TelemetryPoint> read_points(const JsonReader& timeline) {
  std::vector<TelemetryPoint> points;
  if (!timeline.has("telemetry")) return points;
  const std::vector<std::string> columns = timeline.at("columns").at("telemetry").strings();
  timeline.at("telemetry").elements([&](const JsonReader& row) {
    row.expect(row.is_list() && row.size() >= columns.size(), "a value per column");
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
