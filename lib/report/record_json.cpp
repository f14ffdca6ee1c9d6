// Report <-> JSON: header and limits; record_fields.cpp has the fields. Unknown keys are ignored,
// so that files of newer minor versions stay readable; missing ones are errors.
#include "lib/report/record_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/error.hpp"
#include "lib/base/quote.hpp"
#include "lib/report/check.hpp"
#include "lib/report/comparison_text.hpp"
#include "lib/report/device_status_report.hpp"
#include "lib/report/documents.hpp"
#include "lib/report/json_build.hpp"
#include "lib/report/live_event.hpp"
#include "lib/report/profile_report.hpp"
#include "lib/report/record_fields.hpp"
#include "lib/report/scaling_json.hpp"
#include "lib/report/scenario_json.hpp"
#include "lib/report/trend_json.hpp"

namespace mgpu {

namespace {

// Checks the total length: a trace shows the cases of a report one after another, and their times
// must fit into 64 bits.
void check_length(const Report& report) {
  constexpr std::int64_t most = 4'000'000'000'000'000'000;  // 126 years
  std::int64_t whole = 0;
  for (std::size_t k = 0; k < report.runs.size(); ++k) {
    const Timeline& t = report.runs[k].timeline;
    Nanos latest = std::max(t.makespan, t.merge_end);
    for (const Command& command : t.commands)
      latest =
          std::max({latest, command.queued, command.submitted, command.started, command.ended});
    for (const HostSpan& span : t.spans) latest = std::max(latest, span.end);
    for (const SliceRecord& slice : t.slices)
      latest = std::max({latest, slice.enqueued, slice.finished});
    for (const TelemetryPoint& point : report.runs[k].telemetry_points)
      latest = std::max(latest, point.reading.at);
    whole += latest.count();
    if (whole > most)
      throw Error(ErrorKind::input, "runs[" + std::to_string(k) +
                                        "].timeline: with those before it, longer than 126 years");
  }
}

}  // namespace

JsonValue report_value(const Report& report) {
  if (report.timelines) return Kind<Report>::write(report);
  return Kind<Report>::write(without_timelines(report));
}

Report read_report_value(const JsonReader& json) {
  json.expect(json.is_object(), "a JSON object");
  Report report = Kind<Report>::read(json);
  check_length(report);
  return report;
}

std::string result_schema() { return schema_document<Report>(kResultId, "mgpu-bench result file"); }

// The published schemas.

namespace {

struct DescribedSchema {
  std::string_view name;
  std::string (*text)();
};
constexpr DescribedSchema kDescribed[] = {
    {"calibrate", calibrate_schema}, {"check", check_schema},       {"compare", comparison_schema},
    {"devices", devices_schema},     {"event", event_schema},       {"list", list_schema},
    {"plan", plan_schema},           {"profile", profile_schema},   {"result", result_schema},
    {"scaling", scaling_schema},     {"scenario", scenario_schema}, {"status", status_schema},
    {"trend", trend_schema}};

}  // namespace

std::vector<std::string> schema_names() {
  std::vector<std::string> names;
  for (const DescribedSchema& schema : kDescribed) names.emplace_back(schema.name);
  return names;
}

std::string schema_text(std::string_view name) {
  for (const DescribedSchema& schema : kDescribed)
    if (schema.name == name) return schema.text();
  const std::vector<std::string> known = schema_names();
  throw Error(ErrorKind::usage, fmt::format("no schema \"{}\": there are {}{}", name,
                                            fmt::join(known, ", "), did_you_mean(name, known)));
}

}  // namespace mgpu
