// Report <-> JSON: header and limits; the fields are in record_fields.cpp. Unknown keys are
// skipped, so that files of newer minor versions stay readable; missing ones are errors.
#include "lib/report/record_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/base/quote.hpp"
#include "lib/report/json_text.hpp"
#include "lib/report/record_fields.hpp"

namespace mgpu {

namespace {

// A trace lays the cases of a report end to end: together they must stay what 64 bits hold.
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

JsonValue report_value(const Report& report) { return Kind<Report>::write(report); }

Report read_report_value(const JsonReader& json) {
  json.expect(json.is_object(), "a JSON object");
  Report report = Kind<Report>::read(json);
  check_length(report);
  return report;
}

std::string result_schema() { return schema_document<Report>(kResultId, "mgpu-bench result file"); }

}  // namespace mgpu
