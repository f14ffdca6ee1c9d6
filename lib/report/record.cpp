// Words of the records' enumerators, for the result file and the tables, and the record without
// figures.
#include "lib/report/record.hpp"

namespace mgpu {

const char* to_string(Status status) {
  switch (status) {
    case Status::ok:
      return "ok";
    case Status::failed:
      return "failed";
    case Status::skipped:
      return "skipped";
    case Status::unsupported:
      return "unsupported";
  }
  return "";
}

const char* to_string(VerifyStatus status) {
  switch (status) {
    case VerifyStatus::passed:
      return "passed";
    case VerifyStatus::failed:
      return "failed";
    case VerifyStatus::off:
      return "off";
  }
  return "";
}

RunRecord without_figures(const RunRecord& run) {
  RunRecord bare = run;
  bare.samples.clear();
  bare.sample_runs.clear();
  bare.sample_index = 0;
  if (bare.link) bare.link->devices.clear();
  bare.time = {};
  bare.rate = 0;
  bare.merge = {};
  bare.plan.decision = {};
  bare.per_device.clear();
  bare.metrics = {};
  bare.worst_round.reset();
  bare.chain.reset();
  bare.rebalances.clear();
  bare.bottleneck = {};
  bare.timeline = {};
  bare.telemetry.clear();
  bare.telemetry_points.clear();
  bare.energy.reset();
  return bare;
}

Nanos shown_time(const RunRecord& run) {
  if (run.timeline.makespan > Nanos{}) return run.timeline.makespan;
  return run.sample_index < run.samples.size() ? run.samples[run.sample_index] : Nanos{};
}

Report without_timelines(const Report& report) {
  Report bare = report;
  for (RunRecord& run : bare.runs) {
    run.timeline = {};
    run.telemetry_points.clear();
    for (InvalidatedSample& sample : run.invalidated) sample.timeline = {};
  }
  return bare;
}

bool lacks_timelines(const Report& report) {
  bool measured = false;
  for (const RunRecord& run : report.runs) {
    if (!run.timeline.commands.empty()) return false;
    measured |= run.status == Status::ok && !run.link;
  }
  return measured;
}

bool is_links(const Report& report) {
  return !report.paths.empty() || (!report.runs.empty() && report.runs.front().link);
}

std::optional<double> EnergyRecord::power() const {
  return joules && run > Nanos{} ? std::optional(*joules / seconds(run)) : std::nullopt;
}

std::optional<double> EnergyRecord::edp() const {
  return joules ? std::optional(*joules * seconds(run)) : std::nullopt;
}

}  // namespace mgpu
