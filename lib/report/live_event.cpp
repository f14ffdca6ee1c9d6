#include "lib/report/live_event.hpp"

#include <fmt/format.h>

#include "lib/base/quantity.hpp"
#include "lib/report/json_build.hpp"
#include "lib/report/record_fields.hpp"

namespace mgpu {

namespace {

constexpr DocumentId kEventId{"mgpu-bench/event", 1};

}  // namespace

template <>
const Description<LiveFigure>& description<LiveFigure>() {
  static const Description<LiveFigure> kFigure{
      {field<&LiveFigure::name>("name", "such as loss"), field<&LiveFigure::value>("value").in("1"),
       field<&LiveFigure::rounds>("iterations", "done at this value")}};
  return kFigure;
}

template <>
const Description<LiveEvent>& description<LiveEvent>() {
  using E = LiveEvent;
  static const Description<E> kEvent{
      {document_id<E, kEventId>(), field<&E::suite>("suite"), field<&E::mode>("mode"),
       field<&E::strategy>("strategy"), field<&E::devices>("devices", "ids"),
       field<&E::sample>("sample", "counts from 1; 0: a warm-up"),
       field<&E::elapsed>("elapsed_ns", "since the sample began"),
       field<&E::interval>("interval_ns", "since the event before, or since the sample began"),
       field<&E::ended>("ended", "true in the last event of a sample"),
       field<&E::unit>("unit", "what done and total count: iterations, or the suite's items"),
       field<&E::done>("done", "by all devices").in("1"), field<&E::total>("total").in("1"),
       field<&E::rate>("rate", "in the interval, in rate_unit").in("1"),
       field<&E::rate_unit>("rate_unit"),
       field<&E::shares>("shares",
                         "by device, of 1: of the items; if they are not iterated over, of those "
                         "finished so far"),
       field<&E::imbalance_percent>(
           "imbalance_percent",
           "(largest / mean - 1) x 100 of the devices' times in kernels in the interval; null: "
           "fewer than two devices computed"),
       field<&E::figures>("figures", "the latest of the suite: loss of pinn")},
      "A sample under way, a line per interval: run --json-lines."};
  return kEvent;
}

std::string to_json_line(const LiveEvent& event) {
  return flat_json(Kind<LiveEvent>::write(event)) + '\n';
}

std::string event_schema() {
  return schema_document<LiveEvent>(kEventId, "mgpu-bench event, a line of run --json-lines",
                                    Keys::named);
}

std::string words_of(const LiveEvent& event) {
  std::string words = fmt::format("{} {} of {}, {}{}", event.unit, event.done, event.total,
                                  format_si(event.rate), event.rate_unit);
  std::vector<std::string> shares;
  for (const double share : event.shares) shares.push_back(fmt::format("{:.2f}", share));
  if (shares.size() > 1) words += fmt::format(", shares {}", fmt::join(shares, " / "));
  if (event.imbalance_percent)
    words += fmt::format(", imbalance {:.1f} %", *event.imbalance_percent);
  for (const LiveFigure& figure : event.figures)
    words += fmt::format(", {} {:.4g}", figure.name, figure.value);
  return words;
}

}  // namespace mgpu
