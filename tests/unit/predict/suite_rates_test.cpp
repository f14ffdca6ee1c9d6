// Rates at the reference size, for the fake backend's devices, and the line through two of them.
#include "lib/predict/suite_rates.hpp"

#include <doctest/doctest.h>

#include "lib/predict/predictor.hpp"
#include "lib/predict/probe.hpp"
#include "tests/support/sum_suite.hpp"

using namespace mgpu;
using namespace mgpu::test;
using std::chrono::microseconds;

namespace {

SuiteRate whole(double ops, Nanos kernels, Nanos rest) {
  SuiteRate rate;
  rate.ops = ops;
  rate.whole = kernels;
  rate.ops_per_s = ops / seconds(kernels);
  rate.fixed = rest;
  return rate;
}

}  // namespace

TEST_CASE("two problems tell a slice from its operations, and how the rest grows") {
  const SuiteRate line = line_through(whole(1000, microseconds(150), microseconds(10)),
                                      whole(4000, microseconds(450), microseconds(20)));
  CHECK(line.ops_per_s == doctest::Approx(1e7));
  CHECK(line.slice == microseconds(50));
  CHECK(line.fixed == microseconds(20));
  CHECK(line.fixed_grows == doctest::Approx(0.5));
  CHECK(line.fewer_ops == 1000);
  CHECK(line.fewer == microseconds(150));
}

TEST_CASE("where noise hides that, the larger problem stands") {
  const SuiteRate larger = whole(4000, microseconds(400), microseconds(20));
  // The smaller size took longer.
  CHECK(line_through(whole(1000, microseconds(500), microseconds(30)), larger).ops_per_s ==
        doctest::Approx(1e7));
  CHECK(line_through(whole(1000, microseconds(500), microseconds(30)), larger).slice == Nanos{});
  // The smaller size was faster per operation: no time is left for a slice.
  const SuiteRate flat = line_through(whole(1000, microseconds(50), microseconds(30)), larger);
  CHECK(flat.ops_per_s == doctest::Approx(1e7));
  CHECK(flat.slice == Nanos{});
  CHECK(flat.fixed_grows == 0);
  // Nearly all of the time would be the slice's: the rate is limited to a third more than the
  // average.
  CHECK(line_through(whole(1000, microseconds(390), microseconds(5)), larger).ops_per_s ==
        doctest::Approx(1.3e7));
}

TEST_CASE("CPUs have a size of their own; their rate is the average of the whole") {
  const SuiteInfo with = sum_suite(true), without = sum_suite(false);
  SuiteInfo chosen = with, large = with;
  chosen.optional.full_size_of = [](const SuiteParams& params) -> std::uint64_t {
    return params.cpus ? 96 : 512;
  };
  large.host_bytes = [](const SuiteParams& params) { return params.size * 8; };
  large.full_bytes = 100'000;
  struct Known {
    const SuiteInfo& suite;
    bool cpu;
    std::uint64_t size;
  };
  for (const Known& known : {Known{with, true, 1 << 10},
                             {without, true, 1 << 12},
                             {with, false, 1 << 12},
                             {chosen, true, 96},
                             {chosen, false, 512},
                             {large, false, 1 << 14},
                             {large, true, 1 << 10}})
    CHECK(problem_of_reference_size({&known.suite, {}}, known.cpu).params.size == known.size);
  CHECK(problem_of_reference_size({&large, {}}, false, 70'000).params.size == 1 << 13);
  // The problem is enlarged only until it fills the device.
  CHECK(problem_of_reference_size({&large, {}}, false, 100).params.size == 1 << 12);
  SuiteInfo in_rounds = with;
  in_rounds.optional.make_short = [](SuiteParams& params) { params.options["rounds"] = "8"; };
  for (const bool cpu : {false, true})
    CHECK(problem_of_reference_size({&in_rounds, {}}, cpu).params.options.at("rounds") == "8");
  CHECK(!problem_of_reference_size({&with, {}}, true).params.options.contains("rounds"));
  FakeBackend backend({sum_device("0:0", DeviceType::cpu), sum_device("0:1", DeviceType::gpu)},
                      sum_kernels());
  Executor executor(backend, 1);
  for (const Device& facts : backend.enumerate().devices) {
    const auto open = backend.open(facts);
    const bool cpu = facts.is_cpu();
    ReferenceSizeWork work = work_of_reference_size(backend, {&with, {}}, cpu);
    const auto rate = measure_rate_at_reference_size(backend, executor, work, *open, false);
    REQUIRE(rate);
    CHECK(rate->unit == "items/s");
    if (cpu) {
      CHECK(rate->ops == 1 << 10);
      CHECK(seconds(rate->whole) == doctest::Approx(1024e-6 + 24e-6).epsilon(1e-3));
      CHECK(rate->ops_per_s == doctest::Approx(1024 / (1024e-6 + 24e-6)).epsilon(1e-3));
    } else {
      CHECK(rate->ops_per_s == doctest::Approx(1e6).epsilon(1e-3));
    }
  }
}

TEST_CASE("where work is superlinear a GPU has a line through two problems, slowed or not") {
  SuiteInfo suite = sum_suite(false);
  suite.default_size = suite.full_size = 1 << 14;
  suite.make = [](const SuiteParams& params) {
    return std::make_unique<SumWorkload>(params.size, SumFaults{}, true);
  };
  FakeBackend backend({sum_device("0:0", DeviceType::gpu)}, sum_kernels());
  Executor executor(backend, 1);
  Device facts = backend.enumerate().devices.front();
  const auto gpu = backend.open(facts);
  ReferenceSizeWork work = work_of_reference_size(backend, {&suite, {}}, false);
  REQUIRE(work.workloads.size() == 2);
  const auto rate = measure_rate_at_reference_size(backend, executor, work, *gpu, false);
  REQUIRE(rate);
  CHECK(rate->ops_per_s == doctest::Approx(1e6).epsilon(1e-3));
  CHECK(rate->slice == microseconds(24));
  CHECK(rate->fewer_ops == 1 << 12);
  CHECK(rate->fewer == microseconds(4096 + 24));

  SumWorkload workload(1 << 13, {}, true), linear(1 << 13);
  KnownDevice known{.facts = &facts, .rate = &*rate};
  KnownCosts costs = known_costs(known, workload, Mode::resident, 2, 2);
  CHECK(costs.share == 1 << 12);
  REQUIRE(costs.line);
  CHECK(costs.line->items == 1 << 12);
  CHECK(costs.line->whole == microseconds(4096 + 24));
  CHECK(costs.line->beyond.fixed == microseconds(24));
  CHECK(costs.line->beyond.per_item_s == doctest::Approx(1e-6).epsilon(1e-3));
  known.slow = 2.5;
  costs = known_costs(known, workload, Mode::resident, 2, 2);
  CHECK(costs.line->whole == microseconds(10300));
  CHECK(costs.line->beyond.fixed == microseconds(60));
  CHECK(costs.line->beyond.per_item_s == doctest::Approx(2.5e-6).epsilon(1e-3));
  // A CPU's slice slows down with everything else.
  facts.type = DeviceType::cpu;
  CHECK(known_costs(known, workload, Mode::resident, 2, 2).least_slice == microseconds(60));
  facts.type = DeviceType::gpu;
  // If it does not, a probe's slice yields the cost per item.
  CHECK_FALSE(known_costs(known, linear, Mode::resident, 2, 2).line);
}
