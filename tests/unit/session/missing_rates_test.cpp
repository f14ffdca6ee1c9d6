// Rates that a session measures, and devices that fail meanwhile.
#include "lib/session/missing_rates.hpp"

#include <doctest/doctest.h>

#include "tests/support/sum_suite.hpp"

using namespace mgpu;
using namespace mgpu::test;

TEST_CASE("a device that hangs while it is measured is lost, and the others are measured") {
  const SuiteInfo suite = sum_suite(true);
  FakeDevice hanging = sum_device("0:0", DeviceType::cpu);
  hanging.script = fails_from(FakeCall::launch, 0, FakeFault::Kind::hang);
  FakeBackend backend(
      {hanging, sum_device("0:1", DeviceType::cpu), sum_device("0:2", DeviceType::cpu)},
      sum_kernels());
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
  measure_missing_rates(backend, executor, problem, {}, devices, rates,
                        [&](const SessionDevice& device, const Error&) {
                          if (device.lost) lost.push_back(device.facts.id);
                        });
  CHECK(lost == std::vector<std::string>{"0:0"});
  CHECK(devices[0].hung);
  CHECK_FALSE(devices[1].lost);
  REQUIRE(rates.size() == 2);
  for (const auto& [key, rate] : rates)
    CHECK(rate.contended == doctest::Approx(1));  // they share nothing
}

namespace {

// What is left of devices that are measured, and how many of them are said to be lost.
struct Measured {
  explicit Measured(std::vector<FakeDevice> specs)
      : backend(std::move(specs), sum_kernels()), executor(backend, 3) {
    backend.limit_waits({std::chrono::milliseconds(100)});
    for (const Device& facts : backend.enumerate().devices) {
      SessionDevice& made = devices.emplace_back();
      made.facts = facts;
      made.open = backend.open(facts);
    }
  }
  void measure(const SuiteInfo& suite) {
    measure_missing_rates(backend, executor, {&suite, {}}, {}, devices, rates,
                          [&](const SessionDevice& device, const Error&) {
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

TEST_CASE(
    "a device whose compiler does not come back while it is measured is lost: nobody waits for it "
    "again") {
  FakeDevice stuck = sum_device("0:0", DeviceType::cpu);
  stuck.script = fails_from(FakeCall::build, 0, FakeFault::Kind::hang);
  Measured measured({stuck, sum_device("0:1", DeviceType::cpu)});
  measured.measure(sum_suite(true));
  CHECK(measured.lost == std::vector<std::string>{"0:0"});
  CHECK(measured.devices[0].hung);
  CHECK(measured.rates.size() == 1);
}

TEST_CASE(
    "of CPUs measured all at once only the one that hangs is lost, and what they do alone is known "
    "of all") {
  const SuiteInfo suite = sum_suite(true);
  FakeDevice first = sum_device("0:0", DeviceType::cpu),
             second = sum_device("0:1", DeviceType::cpu),
             third = sum_device("0:2", DeviceType::cpu);
  bool all_alone =
      false;  // has the last begun? Each was measured alone before it is measured with others
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

TEST_CASE(
    "a device that fails while it is measured, or has no memory for it, has no rate and is kept if "
    "it is at rest") {
  FakeDevice failing = sum_device("0:0", DeviceType::gpu);
  failing.script = fails_from(FakeCall::launch, 3, FakeFault::Kind::error);
  Measured after_error({failing, sum_device("0:1", DeviceType::gpu)});
  after_error.measure(sum_suite(true));
  CHECK(after_error.lost.empty());
  CHECK(after_error.devices[0].open != nullptr);
  CHECK(after_error.rates.size() == 1);

  SuiteInfo large = sum_suite(true);
  large.make = [](const SuiteParams& params) {
    return std::make_unique<SumWorkload>(params.size, SumFaults{{}, 100});
  };
  Measured without_memory({sum_device("0:0", DeviceType::gpu)});
  without_memory.measure(large);
  CHECK(without_memory.lost.empty());
  CHECK(without_memory.devices[0].open != nullptr);
  CHECK(without_memory.rates.empty());
}

TEST_CASE(
    "an error with other commands still under way loses the device: nobody knows what it will do") {
  FakeDevice failing = sum_device("0:0", DeviceType::gpu);
  bool failed = false;
  failing.script = [&](FakeCall call, std::uint64_t number) {
    if (call == FakeCall::launch && number == 3) return FakeFault{FakeFault::Kind::hang};
    if (call == FakeCall::wait && number > 20 && !std::exchange(failed, true))
      return FakeFault{FakeFault::Kind::refused};
    return FakeFault{};
  };
  Measured measured({failing});
  measured.measure(sum_suite(true));
  CHECK(measured.devices[0].lost);
  CHECK(measured.devices[0].open == nullptr);
  CHECK(measured.rates.empty());
}

TEST_CASE("whoever stops the measuring is not told that devices are lost") {
  Measured measured({sum_device("0:0", DeviceType::cpu), sum_device("0:1", DeviceType::cpu)});
  unsigned asked = 0;
  WaitLimits limits{std::chrono::milliseconds(100)};
  limits.stop = [&] { return ++asked > 2; };
  measured.backend.limit_waits(limits);
  CHECK_NOTHROW(measured.measure(sum_suite(true)));
  CHECK(measured.lost.empty());
}
