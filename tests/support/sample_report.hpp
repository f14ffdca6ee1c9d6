// A small report with everything a report can hold: two devices, runs that are ok, failed and
// unsupported, a fault, a warning, a merge on the host and one on a device. Its values are fixed:
// the golden files are made from it.
#pragma once

#include <limits>
#include <string>
#include <utility>

#include "lib/report/record.hpp"
#include "tests/support/timelines.hpp"

namespace mgpu::test {

inline DeviceRecord sample_device(const std::string& id, std::size_t rank, const std::string& pci,
                                  std::int64_t offset) {
  DeviceRecord record;
  Device& d = record.device;
  d.id = id;
  d.name = "NVIDIA H200";
  d.vendor = d.platform_vendor = "NVIDIA Corporation";
  d.platform = "NVIDIA CUDA";
  d.platform_version = "OpenCL 3.0 CUDA 13.0.98";
  d.driver_version = "580.159.04";
  d.device_version = "OpenCL 3.0 CUDA";
  d.global_memory = 140ull << 30;
  d.max_allocation = 35ull << 30;
  d.local_memory = 48 << 10;
  d.compute_units = 132;
  d.clock_mhz = 1980;
  d.max_work_group = 1024;
  d.compute_capability = 90;
  d.fp64 = true;
  d.pci = pci;
  d.uuid = "8912fe00-0000-0000-0000-00000000000" + std::to_string(rank);
  d.extensions = {"cl_khr_fp64", "cl_nv_device_attribute_query"};
  d.score = 100;
  record.rank = rank;
  record.clock.method = "bounds";
  record.clock.reference_device = 1'790'000'000'000'000'000ull;
  record.clock.reference_host =
      Nanos{static_cast<std::int64_t>(record.clock.reference_device) + offset};
  record.clock.drift_ppb = -8500.25;
  record.clock.uncertainty = Nanos{6012};
  return record;
}

// Adds telemetry of the host and the first device, which were read twice during the sample shown.
inline void add_sample_telemetry(RunRecord& run) {
  TelemetryFigures host, gpu;
  host.of = kHost;
  host.readings = 2;
  host.gauges[static_cast<std::size_t>(Gauge::load)] = GaugeFigures{0.25, 0.375, 0.5};
  gpu.of = "0:0";
  gpu.readings = 20;
  gpu.gauges[static_cast<std::size_t>(Gauge::clock)] = GaugeFigures{1755, 1900.5, 1980};
  gpu.gauges[static_cast<std::size_t>(Gauge::power)] = GaugeFigures{120, 512.5, 700};
  gpu.throttle = throttle::power_cap;
  gpu.throttled_samples = 3;
  run.telemetry = {host, gpu};
  for (const std::int64_t at : {100'000, 600'000}) {
    TelemetryReading reading;
    reading.at = Nanos{at};
    reading[Gauge::clock] = at == 100'000 ? 1980 : 1755;
    reading[Gauge::utilisation] = 0.5;
    run.telemetry_points.push_back({"0:0", reading});
  }
  TelemetryReading load;
  load[Gauge::load] = 0.375;
  run.telemetry_points.push_back({kHost, load});
}

// Returns a run of two devices whose timeline, parts and metrics agree with each other. `first` and
// `second` are the lengths of the kernels.
inline RunRecord sample_run(const std::string& strategy, std::int64_t first, std::int64_t second,
                            Items items_first) {
  RunRecord run;
  run.suite = "merkle";
  run.params = {{"leaves", std::int64_t{100000}}, {"tree", std::string("plain")}};
  run.strategy = strategy;
  run.devices = {"0:0", "0:1"};
  const std::int64_t end =
      std::max(items_first > 0 ? first + 60'000 : 0, items_first < 100'000 ? second + 60'000 : 0);
  TimelineBuilder b(2, end + 50'000);
  Items begin = 0;
  for (std::uint32_t d = 0; d < 2; ++d) {
    const Items items = d == 0 ? items_first : 100'000 - items_first;
    const std::int64_t done = items == 0 ? 0 : (d == 0 ? first : second) + 60'000;
    if (items > 0) {
      b.upload(d, 0, 5'000, 25'000, items * 32)
          .compute(d, 0, 30'000, done - 20'000)
          .download(d, kCollect, done - 15'000, done - 5'000, 32);
      b.slice(d, 0, begin, begin + items, 1'000, done - 18'000)
          .span(d, HostState::in_flight, 0, done);
      begin += items;
    }
    b.span(d, HostState::sync, done, end + 50'000);
  }
  run.timeline = b.merge(end + 4'000, end + 48'000).get();
  for (int k = 0; k < 11; ++k) run.samples.push_back(run.timeline.makespan + Nanos{(k - 5) * 300});
  run.time = summarise(run.samples);
  run.sample_index = 5;
  run.work = {100'000, {"leaves"}, 99'999, 3'200'000, 32};
  run.rate = 99'999 / seconds(run.time.median);
  run.rate_unit = "nodes/s";
  run.merge = run.timeline.merge_end - run.timeline.merge_begin;
  run.setup = {Nanos{120'000'000}, Nanos{3'000'000}, Nanos{22'000'000}, Nanos{400'000}};
  run.plan = {Nanos{4'200}, run.timeline.makespan - Nanos{9'000}};
  MetricsInput input{
      run.time.median, {Nanos{1'000'000}, Nanos{3'000'000}}, run.plan.predicted, 0.81};
  const auto parts = device_parts(run.timeline);
  run.metrics = compute_metrics(run.timeline, parts, input);
  run.bottleneck = find_bottleneck(run.timeline);
  for (std::size_t d = 0; d < 2; ++d) {
    PerDevice p;
    p.device = run.devices[d];
    p.alone = input.alone[d];
    if (d == 0) p.predicted = Nanos{700'000};
    p.parts = parts[d];
    p.share = static_cast<double>(parts[d].items) / 100'000;
    p.utilisation = static_cast<double>(parts[d].compute.count()) /
                    static_cast<double>(run.timeline.makespan.count());
    p.bytes_resident = 6'400'000;
    for (int k = 0; k < 11; ++k) {
      p.alone_samples.push_back(*p.alone + Nanos{(k - 5) * 100});
      p.busy_samples.push_back(std::max(Nanos{}, p.parts.busy + Nanos{(k - 5) * 200}));
    }
    run.per_device.push_back(p);
  }
  run.verify = {VerifyStatus::passed, "recomputed with OpenSSL", "9f86d081884c7d65"};
  add_sample_telemetry(run);
  return run;
}

// Makes the second device hang in a discarded sample, in which the first one computed its last
// slices again. The run asked for three devices, one of which had failed earlier.
inline void lose_second_device(RunRecord& run) {
  run.devices_asked = 3;
  run.verify.checked = 11;
  InvalidatedSample& sample = run.invalidated.emplace_back();
  sample.timeline = sample_run("dynamic", 1'440'000, 640'000, 90'000).timeline;
  sample.time = sample.timeline.makespan;
  sample.verify = VerifyStatus::passed;
  sample.samples_before = 2;
  Fault& fault = run.faults.emplace_back();
  fault.device = "0:1";
  fault.kind = "hang";
  fault.phase = "sample";
  fault.what = "did not answer for 0.2 ms";
  fault.sample = 0;
  fault.at = Nanos{900'000};
  fault.detection = Nanos{200'000};
  fault.recovery = Nanos{480'000};
  fault.items_lost = fault.items_redone = 1250;
  fault.efficiency_before = 0.96;
  fault.efficiency_after = 1;
}

inline RunRecord without_numbers(Status status, const std::string& strategy,
                                 const std::string& reason) {
  RunRecord run;
  run.suite = "merkle";
  run.params = {{"leaves", std::int64_t{100000}}, {"tree", std::string("plain")}};
  run.strategy = strategy;
  run.devices = {"0:0", "0:1"};
  run.status = status;
  run.reason = reason;
  return run;
}

inline Report sample_report() {
  Report report;
  report.complete = true;
  report.tool = {"0.1.0", "0123456789ab", {"mgpu-bench", "run", "merkle", "-s", "all"}};
  report.environment = {{"os", "Debian GNU/Linux 12"}, {"cpu", "Xeon"}};
  report.started = "2026-07-28T09:30:00Z";
  report.defaults = {{"merkle", {{"tree", std::string("plain")}, {"seed", std::int64_t{1}}}}};
  report.devices = {sample_device("0:0", 0, "0000:1a:00.0", 412'000),
                    sample_device("0:1", 1, "0000:3b:00.0", 71'000)};
  report.telemetry = {
      Nanos{50'000'000},
      "",
      {{kHost, "procfs, sysfs", ""}, {"0:0", "NVML", ""}, {"0:1", "", "there is no NVML"}}};
  RunRecord single = sample_run("single", 900'000, 0, 100'000);
  RunRecord equal = sample_run("equal", 450'000, 1'350'000, 50'000);
  RunRecord dynamic = sample_run("dynamic", 690'000, 700'000, 75'000);
  dynamic.strategy_params = {{"chunks", 16.0}};
  dynamic.warnings = {"0:0: clocks were held down: power cap"};
  RunRecord fine = sample_run("dynamic", 720'000, 705'000, 75'000);
  fine.strategy_params = {{"chunks", 64.0}};
  lose_second_device(fine);
  fine.timeline.merged_on = DeviceIndex{0};
  report.runs = {single,
                 equal,
                 dynamic,
                 fine,
                 without_numbers(Status::failed, "guided", "the root differs from the reference"),
                 without_numbers(Status::unsupported, "memory",
                                 "device 0:1 takes 2 MiB at most; the inputs do not fit")};
  RunRecord end_to_end = sample_run("dynamic", 690'000, 700'000, 75'000);
  end_to_end.mode = Mode::end_to_end;
  end_to_end.metrics.roofline_fraction = std::numeric_limits<double>::infinity();
  report.runs.push_back(end_to_end);
  Fault& absent = report.faults.emplace_back();
  absent.device = "0:2";
  absent.kind = "error";
  absent.phase = "set_up";
  absent.what = "clCreateContext: CL_DEVICE_NOT_AVAILABLE";
  return report;
}

}  // namespace mgpu::test
