// The size from which more devices are faster: measured, predicted or unknown.
#include "lib/report/size_sweep.hpp"

#include <doctest/doctest.h>

using namespace mgpu;
using std::chrono::microseconds;

namespace {

Report report_of(DeviceType type, std::size_t devices) {
  Report report;
  for (std::size_t i = 0; i < devices; ++i) {
    DeviceRecord& record = report.devices.emplace_back();
    record.device.id = "0:" + std::to_string(i);
    record.device.type = type;
  }
  return report;
}

// Adds a run of 2^exponent items in equal shares on all devices, which took `time`, while a single
// device took `alone`; the estimates are 1e6 items/s each.
void add(Report& report, int exponent, Nanos alone, Nanos time, Mode mode = Mode::resident) {
  RunRecord& run = report.runs.emplace_back();
  run.suite = "sum";
  run.params = {
      {"items", std::int64_t{1} << exponent}, {"seed", std::int64_t{1}}, {"kind", "plain"}};
  run.strategy = "equal";
  run.mode = mode;
  run.rate_unit = "items/s";
  run.work.items = Items{1} << exponent;
  run.work.ops = static_cast<double>(run.work.items);
  run.samples.assign(9, time);
  run.time = summarise(run.samples);
  run.plan.work = PlannedWork{run.work.items, 1, {8, 0, 0, 0}};
  for (const DeviceRecord& record : report.devices) {
    run.devices.push_back(record.device.id);
    PerDevice& device = run.per_device.emplace_back();
    device.device = record.device.id;
    device.alone_samples.assign(9, alone);
    DeviceEstimate& estimate = run.plan.estimates.devices.emplace_back();
    estimate.items_per_s = 1e6;
    estimate.fits = estimate.pipeline = run.work.items;
    estimate.fixed = microseconds(300);
  }
}

}  // namespace

TEST_CASE("a count pays from the first size on from which it is always faster than fewer") {
  Report report = report_of(DeviceType::cpu, 2);
  // Faster once, by chance: the threshold is higher.
  add(report, 10, microseconds(100), microseconds(90));
  add(report, 12, microseconds(200), microseconds(224));
  add(report, 14, microseconds(400), microseconds(300));
  add(report, 16, microseconds(1600), microseconds(900));
  const std::vector<SizeSweep> sweeps = size_sweeps(report);
  REQUIRE(sweeps.size() == 1);
  CHECK(sweeps[0].title == "sum, resident");
  CHECK(sweeps[0].size_name == "items");
  CHECK(sweeps[0].counts == std::vector<std::size_t>{1, 2});  // nothing is predicted for more CPUs
  CHECK(sweep_sentences(sweeps[0]) ==
        std::vector<std::string>{"2 devices are faster from 2^14 items upwards; at 2^12 they take "
                                 "1.12 times as long as fewer."});
  const std::string table = sweep_tables(report, {});
  CHECK(table.find("2^16") != std::string::npos);
  CHECK(table.find("1.78") != std::string::npos);
  CHECK(sweep_tables(report, {.width = 40}).find("hidden: speedup of 2 devices (") !=
        std::string::npos);
}

TEST_CASE("what the noise does not tell apart does not pay; nor is a failed case a figure") {
  Report report = report_of(DeviceType::cpu, 2);
  for (const int exponent : {10, 12, 14})
    add(report, exponent, microseconds(100), microseconds(101));
  CHECK(sweep_sentences(size_sweeps(report)[0]) ==
        std::vector<std::string>{
            "2 devices are not faster at any size up to 2^14 items; at 2^14 they take 1.01 "
            "times as long as fewer."});
  report.runs.back().status = Status::failed;
  CHECK_FALSE(size_sweeps(report)[0].rows.back().cells[1]);
  CHECK(sweep_sentences(size_sweeps(report)[0]) ==
        std::vector<std::string>{
            "2 devices are not faster at any size up to 2^12 items; at 2^12 they take 1.01 "
            "times as long as fewer."});
}

TEST_CASE("a speed-up that so many devices cannot give is marked") {
  Report report = report_of(DeviceType::cpu, 2);
  add(report, 10, microseconds(208), microseconds(100));
  add(report, 12, microseconds(400), microseconds(200));
  CHECK(sweep_tables(report, {}).find('!') == std::string::npos);
  add(report, 14, microseconds(3940), microseconds(1000));
  const std::string table = sweep_tables(report, {});
  CHECK(table.find("3.94 !") != std::string::npos);
  CHECK(table.find("\n! ") != std::string::npos);
}

TEST_CASE("a strategy that leaves all to one device says nothing of more devices") {
  Report report = report_of(DeviceType::gpu, 1);
  for (const int exponent : {10, 12, 14})
    add(report, exponent, microseconds(100), microseconds(100));
  report.runs.back().params["tile"] = std::int64_t{64};
  CHECK(size_sweeps(report)[0].counts == std::vector<std::size_t>{1, 2, 4, 8});
  CHECK(size_sweeps(report)[0].rows.back().size == "2^14 x 64");
  for (RunRecord& run : report.runs) run.strategy = "single";
  CHECK(size_sweeps(report)[0].counts == std::vector<std::size_t>{1});
  CHECK(sweep_sentences(size_sweeps(report)[0]).empty());
}

TEST_CASE("GPUs that are not there are predicted for resident samples, and not over a link") {
  Report report = report_of(DeviceType::gpu, 1);
  for (const int exponent : {6, 12, 18}) {
    const Nanos time = microseconds(100 + (1 << exponent));
    add(report, exponent, time, time);
    add(report, exponent, time, time, Mode::end_to_end);
  }
  const std::vector<SizeSweep> sweeps = size_sweeps(report);
  REQUIRE(sweeps.size() == 2);
  CHECK(sweeps[0].counts == std::vector<std::size_t>{1, 2, 4, 8});
  const auto& cells = sweeps[0].rows.back().cells;
  REQUIRE(cells[3]);
  CHECK_FALSE(cells[3]->measured);
  CHECK(seconds(cells[3]->time.median) == doctest::Approx((1 << 15) * 1e-6 + 3e-4).epsilon(0.01));
  const std::vector<std::string> sentences = sweep_sentences(sweeps[0]);
  REQUIRE(sentences.size() == 3);
  CHECK(sentences[0].starts_with(
      "2 devices are predicted to be faster from 2^12 items upwards; at 64 they take"));
  CHECK(sweeps[1].counts == std::vector<std::size_t>{1});
  CHECK(sweep_sentences(sweeps[1]) ==
        std::vector<std::string>{"How more devices would share the host link is not known."});
}

TEST_CASE("two sizes are no sweep") {
  Report report = report_of(DeviceType::cpu, 2);
  for (const int exponent : {10, 12}) add(report, exponent, microseconds(100), microseconds(60));
  CHECK(size_sweeps(report).empty());
  CHECK(sweep_tables(report, {}).empty());
}
