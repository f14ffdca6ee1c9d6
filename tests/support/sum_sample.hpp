// Single samples of the sum workload on the fake backend.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lib/exec/executor.hpp"
#include "lib/exec/wait.hpp"
#include "lib/plan/strategy.hpp"
#include "lib/profile/metrics.hpp"
#include "tests/support/sum_workload.hpp"

namespace mgpu::test {

// Returns true if the slices that were not lost cover each item once.
inline bool covers_once(std::vector<RawSlice> slices, Items items) {
  std::erase_if(slices, [](const RawSlice& slice) { return slice.lost; });
  std::sort(slices.begin(), slices.end(),
            [](const auto& a, const auto& b) { return a.begin < b.begin; });
  Items reached = 0;
  for (const auto& slice : slices) {
    if (slice.begin != reached) return false;
    reached = slice.end;
  }
  return reached == items;
}

// One sample of the sum workload under a strategy; the estimates equal the true speeds of the
// devices.
struct SumSample {
  SumSample(std::vector<FakeDevice> fakes, Items items, SumFaults faults = {},
            FakeTime time = FakeTime::is_virtual, Mode in = Mode::end_to_end,
            std::vector<Handicap> handicaps = {})
      : mode(in),
        specs(fakes),
        backend(std::move(fakes), sum_kernels(), time),
        workload(items, faults) {
    handicaps.resize(specs.size());
    for (std::uint32_t i = 0; i < specs.size(); ++i) {
      open.push_back(backend.open(specs[i].facts, handicaps[i]));
      const Capacity capacity = workload.capacity(open[i]->resources().traits(), mode);
      programs.push_back(workload.program(open[i]->resources(), mode, capacity));
      if (mode == Mode::resident) {
        programs[i]->load(open[i]->stream());
        finish_batch(backend, *open[i], open[i]->submit());
      }
      DeviceEstimate& estimate = estimates.emplace_back();
      estimate.items_per_s = specs[i].ops_per_s;
      estimate.score = 50;
      estimate.fits = capacity.fits;
      estimate.pipeline = capacity.pipeline;
    }
  }

  // Takes a sample on devices of 1e7 items/s.
  SumSample(std::size_t devices, Items items, SumFaults faults = {},
            FakeTime time = FakeTime::is_virtual)
      : SumSample(equal_devices(devices), items, faults, time) {}

  static std::vector<FakeDevice> equal_devices(std::size_t count) {
    std::vector<FakeDevice> made;
    for (std::size_t i = 0; i < count; ++i)
      made.push_back(fake_device("0:" + std::to_string(i), 1e7));
    return made;
  }

  RawSample run(const std::string& strategy, Nanos timeout = std::chrono::seconds(60)) {
    const StrategyChoice choice = parse_strategies(strategy).front();
    if (reserve) estimates.resize(*reserve);
    const PlanRequest request{
        workload.shape().items, 1, mode, workload.shape().cost, estimates, 0, 0};
    const auto source = choice.info->make(choice.params)->begin(request, {});
    SampleRequest sample;
    sample.workload = &workload;
    sample.source = source.get();
    sample.timeout = timeout;
    for (std::size_t i = 0; i < open.size(); ++i) {
      if (reserve != i) sample.participants.push_back({open[i].get(), programs[i].get()});
    }
    sample.stop = stop;
    if (reserve) {
      sample.reserve = [&]() -> std::optional<Participant> {
        ++asked_reserve;
        return Participant{open[*reserve].get(), programs[*reserve].get()};
      };
    }
    if (executor != nullptr) return executor->run(sample);
    return Executor(backend, open.size(), start).run(sample);
  }

  Timeline timeline(const RawSample& sample) {
    std::vector<ClockMap> clocks;
    for (auto& device : open) clocks.push_back(fit_clock(device->probe_clock(1), {}));
    return to_timeline(sample, clocks);
  }

  bool right() const { return workload.digest() == std::to_string(workload.reference()); }
  // Checks that the sample did not fail and that every item was computed once.
  void check_right(const RawSample& sample) const {
    REQUIRE_FALSE(sample.failure);
    CHECK(right());
    CHECK(covers_once(sample.slices, workload.shape().items));
  }

  Mode mode;
  std::optional<std::size_t> reserve;  // the last device
  std::size_t asked_reserve = 0;
  std::function<bool()> stop;
  Executor::StartThread start;
  Executor* executor = nullptr;  // instead of a new one for each sample
  std::vector<FakeDevice> specs;
  FakeBackend backend;
  SumWorkload workload;
  std::vector<std::unique_ptr<OpenDevice>> open;
  std::vector<std::unique_ptr<DeviceProgram>> programs;
  std::vector<DeviceEstimate> estimates;
};

}  // namespace mgpu::test
