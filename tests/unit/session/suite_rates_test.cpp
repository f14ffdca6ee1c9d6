// Rates at the reference size: of the fake backend's devices, and the line through two of them.
#include "lib/session/suite_rates.hpp"

#include <doctest/doctest.h>

#include "lib/session/forecast.hpp"
#include "lib/session/group.hpp"
#include "lib/session/probe.hpp"
#include "tests/support/sum_workload.hpp"

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

SuiteInfo sum_suite(bool has_cpu_size) {
  SuiteInfo made;
  made.name = "sum";
  made.size_name = "items";
  made.default_size = made.quick_size = 1 << 12;
  if (has_cpu_size) made.full_size_cpu = 1 << 10;
  made.make = [](const SuiteParams& params) -> std::unique_ptr<Workload> { return std::make_unique<SumWorkload>(params.size); };
  return made;
}

FakeDevice device(const std::string& id, DeviceType type) {
  FakeDevice made;
  made.facts.id = id;
  made.facts.type = type;
  made.facts.global_memory = made.facts.max_allocation = Bytes{1} << 30;
  made.ops_per_s = 1e6;
  made.launch = microseconds(24);
  return made;
}

}  // namespace

TEST_CASE("two problems tell a slice from its operations, and how the rest grows") {
  const SuiteRate line =
      line_through(whole(1000, microseconds(150), microseconds(10)), whole(4000, microseconds(450), microseconds(20)));
  CHECK(line.ops_per_s == doctest::Approx(1e7));
  CHECK(line.slice == microseconds(50));
  CHECK(line.fixed == microseconds(20));
  CHECK(line.fixed_grows == doctest::Approx(0.5));
  CHECK(line.fewer_ops == 1000);
  CHECK(line.fewer == microseconds(150));
}

TEST_CASE("where noise hides that, the larger problem stands") {
  const SuiteRate larger = whole(4000, microseconds(400), microseconds(20));
  // The smaller took longer.
  CHECK(line_through(whole(1000, microseconds(500), microseconds(30)), larger).ops_per_s == doctest::Approx(1e7));
  CHECK(line_through(whole(1000, microseconds(500), microseconds(30)), larger).slice == Nanos{});
  // It was faster for each operation: nothing is left for a slice.
  const SuiteRate flat = line_through(whole(1000, microseconds(50), microseconds(30)), larger);
  CHECK(flat.ops_per_s == doctest::Approx(1e7));
  CHECK(flat.slice == Nanos{});
  CHECK(flat.fixed_grows == 0);
  // Nearly all of it would be the slice: the rate is not believed beyond a third more than the average.
  CHECK(line_through(whole(1000, microseconds(390), microseconds(5)), larger).ops_per_s == doctest::Approx(1.3e7));
}

TEST_CASE("CPUs have a size of their own; their rate is the average of the whole") {
  const SuiteInfo with = sum_suite(true), without = sum_suite(false);
  CHECK(problem_of_reference_size({&with, {}}, true).params.size == 1 << 10);
  CHECK(problem_of_reference_size({&without, {}}, true).params.size == 1 << 12);
  CHECK(problem_of_reference_size({&with, {}}, false).params.size == 1 << 12);
  SuiteInfo large = with;
  large.host_bytes = [](const SuiteParams& params) { return params.size * 8; };
  large.full_bytes = 100'000;
  CHECK(problem_of_reference_size({&large, {}}, false).params.size == 1 << 14);
  CHECK(problem_of_reference_size({&large, {}}, false, 70'000).params.size == 1 << 13);
  CHECK(problem_of_reference_size({&large, {}}, false, 100).params.size ==
        1 << 12);  // enlarged no further, and no smaller than full
  CHECK(problem_of_reference_size({&large, {}}, true).params.size == 1 << 10);
  FakeBackend backend({device("0:0", DeviceType::cpu), device("0:1", DeviceType::gpu)}, sum_kernels());
  Executor executor(backend, 1);
  for (const Device& facts : backend.enumerate().devices) {
    const auto open = backend.open(facts);
    const bool cpu = facts.is_cpu();
    const auto rate = measure_rate_at_reference_size(backend, executor, work_of_reference_size({&with, {}}, cpu), *open);
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

TEST_CASE("where parts cost less a GPU has a line through two problems, which knows costs of a share, slowed down or not") {
  SuiteInfo suite = sum_suite(false);
  suite.default_size = suite.full_size = 1 << 14;
  suite.make = [](const SuiteParams& params) { return std::make_unique<SumWorkload>(params.size, SumFaults{}, true); };
  FakeBackend backend({device("0:0", DeviceType::gpu)}, sum_kernels());
  Executor executor(backend, 1);
  SessionDevice gpu;
  gpu.facts = backend.enumerate().devices.front();
  gpu.open = backend.open(gpu.facts);
  const ReferenceSizeWork work = work_of_reference_size({&suite, {}}, false);
  REQUIRE(work.size() == 2);
  const auto rate = measure_rate_at_reference_size(backend, executor, work, *gpu.open);
  REQUIRE(rate);
  CHECK(rate->ops_per_s == doctest::Approx(1e6).epsilon(1e-3));
  CHECK(rate->slice == microseconds(24));
  CHECK(rate->fewer_ops == 1 << 12);
  CHECK(rate->fewer == microseconds(4096 + 24));

  const SumWorkload workload(1 << 13, {}, true);
  KnownCosts costs = known_costs(gpu, nullptr, &*rate, workload, Mode::resident, 2, 2);
  CHECK(costs.share == 1 << 12);
  REQUIRE(costs.line);
  CHECK(costs.line->items == 1 << 12);
  CHECK(costs.line->whole == microseconds(4096 + 24));
  CHECK(costs.line->beyond.fixed == microseconds(24));
  CHECK(costs.line->beyond.per_item_s == doctest::Approx(1e-6).epsilon(1e-3));
  gpu.handicap.slow = 2.5;
  costs = known_costs(gpu, nullptr, &*rate, workload, Mode::resident, 2, 2);
  CHECK(costs.line->whole == microseconds(10300));
  CHECK(costs.line->beyond.fixed == microseconds(60));
  CHECK(costs.line->beyond.per_item_s == doctest::Approx(2.5e-6).epsilon(1e-3));
  // A CPU's slice is slowed down with all the rest.
  gpu.facts.type = DeviceType::cpu;
  CHECK(known_costs(gpu, nullptr, &*rate, workload, Mode::resident, 2, 2).least_slice == microseconds(60));
  gpu.facts.type = DeviceType::gpu;
  // Where they do not, a probe's slice tells what an item costs.
  CHECK_FALSE(known_costs(gpu, nullptr, &*rate, SumWorkload(1 << 13), Mode::resident, 2, 2).line);
}

TEST_CASE("a device that hangs while it is measured is lost, and the others are measured") {
  const SuiteInfo suite = sum_suite(true);
  FakeDevice hanging = device("0:0", DeviceType::cpu);
  hanging.script = fails_from(FakeCall::launch, 0, FakeFault::Kind::hang);
  FakeBackend backend({hanging, device("0:1", DeviceType::cpu), device("0:2", DeviceType::cpu)}, sum_kernels());
  backend.limit_waits({std::chrono::milliseconds(100)});
  Executor executor(backend, 3);
  std::vector<SessionDevice> devices;
  for (const Device& facts : backend.enumerate().devices) {
    SessionDevice& made = devices.emplace_back();
    made.facts = facts;
    made.open = backend.open(facts);
  }
  SuiteRates rates;
  std::vector<std::string> lost;
  const Problem problem{&suite, {}};
  measure_missing_rates(backend, executor, problem, {}, devices, rates, [&](const SessionDevice& device, const Error&) {
    if (device.lost) lost.push_back(device.facts.id);
  });
  CHECK(lost == std::vector<std::string>{"0:0"});
  CHECK(devices[0].hung);
  CHECK_FALSE(devices[1].lost);
  REQUIRE(rates.size() == 2);
  for (const auto& [key, rate] : rates) CHECK(rate.contended == doctest::Approx(1));  // they share nothing
}

namespace {

// What is left of devices that are measured, and how many of them are said to be lost.
struct Measured {
  explicit Measured(std::vector<FakeDevice> specs) : backend(std::move(specs), sum_kernels()), executor(backend, 3) {
    backend.limit_waits({std::chrono::milliseconds(100)});
    for (const Device& facts : backend.enumerate().devices) {
      SessionDevice& made = devices.emplace_back();
      made.facts = facts;
      made.open = backend.open(facts);
    }
  }
  void measure(const SuiteInfo& suite) {
    measure_missing_rates(backend, executor, {&suite, {}}, {}, devices, rates, [&](const SessionDevice& device, const Error&) {
      if (device.lost) lost.push_back(device.facts.id);
    });
  }

  FakeBackend backend;
  Executor executor;
  std::vector<SessionDevice> devices;
  SuiteRates rates;
  std::vector<std::string> lost;
};

}  // namespace

TEST_CASE("a device whose compiler does not come back while it is measured is lost: nobody waits for it again") {
  FakeDevice stuck = device("0:0", DeviceType::cpu);
  stuck.script = fails_from(FakeCall::build, 0, FakeFault::Kind::hang);
  Measured measured({stuck, device("0:1", DeviceType::cpu)});
  measured.measure(sum_suite(true));
  CHECK(measured.lost == std::vector<std::string>{"0:0"});
  CHECK(measured.devices[0].hung);
  CHECK(measured.rates.size() == 1);
}

TEST_CASE("of CPUs measured all at once only the one that hangs is lost, and what they do alone is known of all") {
  const SuiteInfo suite = sum_suite(true);
  FakeDevice first = device("0:0", DeviceType::cpu), second = device("0:1", DeviceType::cpu),
             third = device("0:2", DeviceType::cpu);
  bool all_alone = false;  // has the last begun? Each was measured alone before it is measured with others
  third.script = [&](FakeCall call, std::uint64_t) {
    all_alone |= call == FakeCall::launch;
    return FakeFault{};
  };
  first.script = [&](FakeCall call, std::uint64_t) {
    return all_alone && call == FakeCall::launch ? FakeFault{FakeFault::Kind::hang} : FakeFault{};
  };
  Measured measured({first, second, third});
  measured.measure(suite);
  CHECK(measured.lost == std::vector<std::string>{"0:0"});
  CHECK(measured.devices[0].hung);
  CHECK(measured.devices[0].open == nullptr);
  for (const std::size_t healthy : {1u, 2u}) {
    CHECK_FALSE(measured.devices[healthy].lost);
    CHECK(measured.devices[healthy].open != nullptr);
  }
  REQUIRE(measured.rates.size() == 3);
  for (const auto& [key, rate] : measured.rates) CHECK(rate.contended == 1);
}

TEST_CASE("a device that fails while it is measured, or has no memory for it, has no rate and is kept if it is at rest") {
  FakeDevice failing = device("0:0", DeviceType::gpu);
  failing.script = fails_from(FakeCall::launch, 3, FakeFault::Kind::error);
  Measured after_error({failing, device("0:1", DeviceType::gpu)});
  after_error.measure(sum_suite(true));
  CHECK(after_error.lost.empty());
  CHECK(after_error.devices[0].open != nullptr);
  CHECK(after_error.rates.size() == 1);

  SuiteInfo large = sum_suite(true);
  large.make = [](const SuiteParams& params) { return std::make_unique<SumWorkload>(params.size, SumFaults{{}, 100}); };
  Measured without_memory({device("0:0", DeviceType::gpu)});
  without_memory.measure(large);
  CHECK(without_memory.lost.empty());
  CHECK(without_memory.devices[0].open != nullptr);
  CHECK(without_memory.rates.empty());
}

TEST_CASE("an error with other commands still under way loses the device: nobody knows what it will do") {
  FakeDevice failing = device("0:0", DeviceType::gpu);
  bool failed = false;
  failing.script = [&](FakeCall call, std::uint64_t number) {
    if (call == FakeCall::launch && number == 3) return FakeFault{FakeFault::Kind::hang};
    if (call == FakeCall::wait && number > 20 && !std::exchange(failed, true)) return FakeFault{FakeFault::Kind::refused};
    return FakeFault{};
  };
  Measured measured({failing});
  measured.measure(sum_suite(true));
  CHECK(measured.devices[0].lost);
  CHECK(measured.devices[0].open == nullptr);
  CHECK(measured.rates.empty());
}

TEST_CASE("whoever stops the measuring is not told that devices are lost") {
  Measured measured({device("0:0", DeviceType::cpu), device("0:1", DeviceType::cpu)});
  unsigned asked = 0;
  WaitLimits limits{std::chrono::milliseconds(100)};
  limits.stop = [&] { return ++asked > 2; };
  measured.backend.limit_waits(limits);
  CHECK_NOTHROW(measured.measure(sum_suite(true)));
  CHECK(measured.lost.empty());
}
