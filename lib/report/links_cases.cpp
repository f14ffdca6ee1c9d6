// Converts a links file into a result, so that comparison and exports serve both.
#include <fmt/format.h>

#include <algorithm>

#include "lib/base/quantity.hpp"
#include "lib/report/links_record.hpp"

namespace mgpu {

namespace {

constexpr const char* kSuite = "links";

// Returns the case of a measurement that moves `bytes` in each of `samples`.
RunRecord case_of(std::string suite, std::string label, const std::string& mode,
                  std::vector<std::string> devices, double bytes, std::vector<Nanos> samples,
                  std::uint64_t wrong) {
  RunRecord run;
  run.suite = std::move(suite);
  run.strategy = std::move(label);
  run.mode = mode_named(mode);
  run.devices = std::move(devices);
  run.devices_asked = run.devices.size();
  run.time = summarise(samples);
  run.samples = std::move(samples);
  run.work.ops = bytes;
  run.rate_unit = "B/s";
  if (run.time.median > Nanos{}) run.rate = bytes / seconds(run.time.median);
  run.verify.status = wrong > 0 ? VerifyStatus::failed : VerifyStatus::passed;
  run.verify.method = "known data";
  if (wrong == 0) return run;
  run.status = Status::failed;
  run.reason = fmt::format("{} elements were wrong", wrong);
  return without_figures(run);
}

std::string mode_of(std::string words, bool in_use) { return in_use ? words : words + "_staged"; }

std::string with_underscores(std::string words) {
  std::replace(words.begin(), words.end(), '-', '_');
  return words;
}

std::vector<Nanos> per_call(const std::vector<Nanos>& queued, std::uint64_t calls) {
  std::vector<Nanos> times;
  for (const Nanos time : queued) times.push_back(time / static_cast<std::int64_t>(calls));
  return times;
}

RunRecord case_of(const LinkTransfer& transfer) {
  std::vector<std::string> devices;
  for (const std::string& end : {transfer.from, transfer.to})
    if (end != kLinksHost) devices.push_back(end);
  return case_of(kSuite, fmt::format("{} to {}", transfer.from, transfer.to),
                 mode_of(with_underscores(to_string(transfer.traffic)), transfer.in_use),
                 std::move(devices), static_cast<double>(transfer.moves.bytes),
                 transfer.moves.samples, transfer.moves.wrong);
}

RunRecord case_of(const LinkAtOnce& row) {
  std::vector<std::string> devices;
  for (const LinkShare& share : row.devices) devices.push_back(share.device);
  return case_of(kSuite, to_string(row.crowd), mode_of("all_at_once", row.in_use),
                 std::move(devices), static_cast<double>(row.moves.bytes), row.moves.samples,
                 row.moves.wrong);
}

}  // namespace

Report as_cases(const LinksReport& report) {
  Report cases;
  cases.complete = report.complete;
  cases.tool = report.tool;
  cases.environment = report.environment;
  cases.options = report.options;
  cases.started = report.started;
  for (const Device& device : report.devices)
    cases.devices.push_back({device, cases.devices.size(), {}, {}, {}});
  for (const LinkTransfer& transfer : report.transfers) cases.runs.push_back(case_of(transfer));
  for (const LinkAtOnce& row : report.at_once) cases.runs.push_back(case_of(row));
  for (const LinkLatency& latency : report.latencies) {
    const std::string label = fmt::format("{}", fmt::join(latency.devices, " and "));
    cases.runs.push_back(case_of(kSuite, label, mode_of("latency_alone", latency.in_use),
                                 latency.devices, 0, latency.alone, 0));
    cases.runs.push_back(case_of(kSuite, label, mode_of("latency_back_to_back", latency.in_use),
                                 latency.devices, 0, per_call(latency.queued, latency.queued_calls),
                                 0));
  }
  for (const CollectiveRecord& row : report.collectives) {
    const double bytes = static_cast<double>(row.size) * row.bus_factor;
    const std::string label = format_count(row.size) + " B";
    const auto add = [&](const std::string& mode, std::vector<Nanos> samples) {
      RunRecord run =
          case_of(row.op, label, mode, row.devices, bytes, std::move(samples), row.wrong);
      run.params["type"] = row.element;
      if (!row.reduction.empty()) run.params["redop"] = row.reduction;
      cases.runs.push_back(std::move(run));
    };
    add("back_to_back", per_call(row.queued, row.queued_calls));
    add("alone", row.alone);
  }
  return cases;
}

}  // namespace mgpu
