// The fields of telemetry in result files.
#include "lib/report/telemetry_json.hpp"

#include "lib/report/record_fields.hpp"

namespace mgpu {

template <>
const Description<GaugeFigures>& description<GaugeFigures>() {
  static const Description<GaugeFigures> kFigures{
      {field<&GaugeFigures::min>("min", "smallest reading").in("that of the gauge"),
       field<&GaugeFigures::mean>("mean", "mean of the readings").in("that of the gauge"),
       field<&GaugeFigures::max>("max", "largest reading").in("that of the gauge")},
      "",
      "gauge"};
  return kFigures;
}

template <>
const Description<TelemetryFigures>& description<TelemetryFigures>() {
  using Of = TelemetryFigures;
  static const Description<Of> kFigures{
      {field<&Of::of>("of", "host, or a device's id"),
       field<&Of::readings>("readings", "that fell into samples"),
       computed<[](const Of& of) { return throttle_words(of.throttle); }>(
           "throttle", "why clocks were held down")
           .with_schema(R"({"items": {"enum": ["power cap", "thermal", "power brake",
"hardware slowdown", "sync boost"]}})"),
       field<&Of::throttled_samples>("throttled_samples",
                                     "number of samples in which a reading said so"),
       many<Of>(
           [](const Field<Of>&, const Of& of, JsonValue& object) {
             for (const GaugeInfo& gauge : kGaugeTable)
               if (of[gauge.gauge])
                 put(object, gauge.name, Kind<GaugeFigures>::write(*of[gauge.gauge]));
           },
           [](const Field<Of>&, const JsonReader& object, Of& of) {
             for (const GaugeInfo& gauge : kGaugeTable)
               if (object.has(gauge.name))
                 of.gauges[static_cast<std::size_t>(gauge.gauge)] =
                     Kind<GaugeFigures>::read(object.at(gauge.name));
           },
           [](const Field<Of>&, JsonValue& definitions) {
             JsonValue object = object_schema("");
             for (const GaugeInfo& gauge : kGaugeTable)
               add_property(
                   object, gauge.name, false,
                   described(Kind<GaugeFigures>::schema(definitions), gauge.meaning, nullptr));
             return object;
           })},
      "Of the host or one device during the samples of the case; figures that cannot be read are "
      "absent. A sample without a reading in it is described by the one nearest to it.",
      "telemetry_figures",
      [](const JsonReader& json, Of& of) {
        of.throttle = throttle_bits(json.at("throttle").strings());
      }};
  return kFigures;
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
