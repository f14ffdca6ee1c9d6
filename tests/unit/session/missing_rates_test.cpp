// Rates that a session measures, and devices that fail meanwhile.
#include "lib/session/missing_rates.hpp"

#include <doctest/doctest.h>

#include <utility>

#include "lib/session/calibrate.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/sum_suite.hpp"

using namespace mgpu;
using namespace mgpu::test;

namespace {

// Runs the measurement; afterwards it has the remaining devices and the reported failures.
struct MissingRates {
  explicit MissingRates(std::vector<FakeDevice> specs)
      : backend(std::move(specs), sum_kernels()), executor(backend, 3) {
    backend.limit_waits({std::chrono::milliseconds(100)});
    for (const Device& facts : backend.enumerate().devices) {
      SessionDevice& made = devices.emplace_back();
      made.facts = facts;
      made.open = backend.open(facts);
    }
  }
  void measure(const SuiteInfo& suite = sum_suite(true)) {
    measure_missing_rates(backend, executor, {&suite, {}}, {}, devices, rates,
                          [&](const SessionDevice& device, const Error&) {
                            if (device.lost) lost.push_back(device.facts.id);
                          });
  }
  std::uint64_t size_for(Nanos aim, Bytes input = Bytes{1} << 40) {
    SuiteInfo suite = sum_suite(true);
    suite.shape = [](const SuiteParams& params) { return SumWorkload(params.size).shape(); };
    suite.make = [this, make = suite.make](const SuiteParams& params) {
      backend.spend(std::exchange(first_takes, {}));
      return make(params);
    };
    SizeLimits limits;
    limits.aim = aim;
    limits.input = input;
    return size_by_trials(
        backend, executor, {&suite, {}}, {}, devices, limits, VerifyLevel::sample, rates,
        [&](const SessionDevice& device, const Error&) { lost.push_back(device.facts.id); });
  }
  // Checks that the first device failed and that this number of the others have a rate of their
  // own.
  void check_first_hung(std::size_t rates_left) const {
    CHECK(lost == std::vector<std::string>{"0:0"});
    CHECK(devices[0].hung);
    for (std::size_t i = 1; i < devices.size(); ++i) {
      CHECK_FALSE(devices[i].lost);
      CHECK(devices[i].open != nullptr);
    }
    CHECK(rates.size() == rates_left);
    for (const auto& [key, rate] : rates)
      CHECK(rate.contended == doctest::Approx(1));  // they share nothing
  }

  FakeBackend backend;
  Executor executor;
  std::vector<SessionDevice> devices;
  SuiteRates rates;
  std::vector<std::string> lost;
  Nanos first_takes{};  // time of the host to make the first problem
};

std::vector<FakeDevice> three_cpus() {
  return {sum_device("0:0", DeviceType::cpu), sum_device("0:1", DeviceType::cpu),
          sum_device("0:2", DeviceType::cpu)};
}

}  // namespace

TEST_CASE("a device that hangs or never builds is lost while measured, the others have rates") {
  for (const FakeCall call : {FakeCall::launch, FakeCall::build}) {
    std::vector<FakeDevice> cpus = three_cpus();
    cpus[0].script = fails_from(call, 0, FakeFault::Kind::hang);
    MissingRates measured(cpus);
    measured.measure();
    measured.check_first_hung(2);
  }
}

TEST_CASE("of CPUs measured all at once only the one that hangs is lost, and all rates are known") {
  std::vector<FakeDevice> cpus = three_cpus();
  // Whether the last device has begun; each is measured alone before all are together.
  bool all_alone = false;
  cpus[2].script = [&](FakeCall call, std::uint64_t) {
    all_alone |= call == FakeCall::launch;
    return FakeFault{};
  };
  cpus[0].script = [&](FakeCall call, std::uint64_t) {
    return all_alone && call == FakeCall::launch ? FakeFault{FakeFault::Kind::hang} : FakeFault{};
  };
  MissingRates measured(cpus);
  measured.measure();
  measured.check_first_hung(3);
  CHECK(measured.devices[0].open == nullptr);
}

TEST_CASE("a device that fails, or has no memory for it, has no rate and stays if it is at rest") {
  FakeDevice failing = sum_device("0:0", DeviceType::gpu);
  failing.script = fails_from(FakeCall::launch, 3, FakeFault::Kind::error);
  MissingRates after_error({failing, sum_device("0:1", DeviceType::gpu)});
  after_error.measure();
  CHECK(after_error.rates.size() == 1);

  SuiteInfo large = sum_suite(true);
  large.make = [](const SuiteParams& params) {
    return std::make_unique<SumWorkload>(params.size, SumFaults{{}, 100});
  };
  MissingRates without_memory({sum_device("0:0", DeviceType::gpu)});
  without_memory.measure(large);
  CHECK(without_memory.rates.empty());
  for (const MissingRates* measured : {&after_error, &without_memory}) {
    CHECK(measured->lost.empty());
    CHECK(measured->devices[0].open != nullptr);
  }
}

TEST_CASE("an error with commands under way loses the device: nobody knows what it will do") {
  FakeDevice failing = sum_device("0:0", DeviceType::gpu);
  bool failed = false;
  failing.script = [&](FakeCall call, std::uint64_t number) {
    if (call == FakeCall::launch && number == 3) return FakeFault{FakeFault::Kind::hang};
    if (call == FakeCall::wait && number > 20 && !std::exchange(failed, true))
      return FakeFault{FakeFault::Kind::refused};
    return FakeFault{};
  };
  MissingRates measured({failing});
  measured.measure();
  CHECK(measured.devices[0].lost);
  CHECK(measured.devices[0].open == nullptr);
  CHECK(measured.rates.empty());
}

TEST_CASE("whoever stops the measuring is not told that devices are lost") {
  MissingRates measured(three_cpus());
  unsigned asked = 0;
  WaitLimits limits{std::chrono::milliseconds(100)};
  limits.stop = [&] { return ++asked > 2; };
  measured.backend.limit_waits(limits);
  CHECK_NOTHROW(measured.measure());
  CHECK(measured.lost.empty());
}

TEST_CASE("a rate of a busy machine is used with a warning, and measured again") {
  FakeBackend backend({sum_device("0:0", DeviceType::cpu)}, sum_kernels());
  const std::vector<Device> devices = backend.enumerate().devices;
  const SuiteInfo suite = sum_suite(true);
  const TemporaryFolder folder;
  const CalibrationStore store(folder.path(), {"1", "kernels"});
  const std::string work = work_of({&suite, {}});
  SuiteRate busy;
  busy.ops_per_s = 1;
  busy.busy = true;
  std::vector<std::string> warnings;
  store.save_suite(devices[0], work, busy, warnings);
  SuiteRates rates;
  add_cached_rates({&suite, {}}, devices, store, rates, warnings);
  CHECK(rates.at({work, "0:0"}).ops_per_s == 1);
  CHECK(warnings.size() == 1);
  warnings.clear();
  const auto rows = calibrate_suites(backend, devices, {&suite, 1}, store, false, warnings);
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].origin == CalibrationOrigin::measured);
  const auto now = store.load_suite(devices[0], work, warnings);
  REQUIRE(now);
  CHECK_FALSE(now->busy);
  CHECK(now->ops_per_s > 1);
  CHECK(warnings.empty());
}

TEST_CASE(
    "the power of a suite is measured only if its rate is known; what hinders it is a warning") {
  FakeBackend backend({sum_device("0:0", DeviceType::gpu)}, sum_kernels());
  const std::vector<Device> devices = backend.enumerate().devices;
  const SuiteInfo suite = sum_suite(true);
  const TemporaryFolder folder;
  const CalibrationStore store(folder.path(), {"1", "kernels"});
  std::vector<std::string> warnings;
  calibrate_power(backend, devices, {&suite, 1}, store, warnings);
  CHECK(warnings.empty());
  SuiteRate rate;
  rate.ops_per_s = 1e6;
  store.save_suite(devices[0], work_of({&suite, {}}), rate, warnings);
  calibrate_power(backend, devices, {&suite, 1}, store, warnings);
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0] ==
        "the power of sum on 0:0 is not known: the devices and their clock are simulated");
  rate.busy_w = 200;
  store.save_suite(devices[0], work_of({&suite, {}}), rate, warnings);
  calibrate_power(backend, devices, {&suite, 1}, store, warnings);
  CHECK(warnings.size() == 1);
  CHECK(store.load_suite(devices[0], work_of({&suite, {}}), warnings)->busy_w == 200);
}

TEST_CASE(
    "of a problem that takes a device long a part is executed; what is measured is announced") {
  FakeDevice slow = sum_device("0:0", DeviceType::cpu);
  slow.ops_per_s = 10;
  FakeBackend backend({slow}, sum_kernels());
  const std::vector<Device> devices = backend.enumerate().devices;
  const SuiteInfo suite = sum_suite(true);
  const TemporaryFolder folder;
  const CalibrationStore store(folder.path(), {"1", "kernels"});
  std::vector<std::string> warnings, steps;
  const auto measure = [&] {
    return calibrate_suites(backend, devices, {&suite, 1}, store, false, warnings,
                            [&](const std::string& step) { steps.push_back(step); });
  };
  const auto rows = measure();
  REQUIRE(rows.at(0).rate);
  CHECK(rows[0].rate->in_part);
  CHECK(rows[0].rate->ops_per_s == doctest::Approx(10).epsilon(0.01));
  CHECK(warnings.size() == 1);
  CHECK(steps == std::vector<std::string>{"sum on 0:0"});
  CHECK(measure()[0].origin == CalibrationOrigin::cached);
  CHECK(steps.size() == 1);
}

TEST_CASE("trials find the size nearest to a time, on one device of each kind") {
  // 1e6 items/s; the first trial has 2^10 items, and a trial of 1/8 of the aim is the last.
  MissingRates cpus(three_cpus());
  CHECK(cpus.size_for(std::chrono::milliseconds(16)) == 1 << 14);
  CHECK(cpus.rates.size() == 3);
  CHECK(cpus.devices[0].open->resources().traits().cpu);
  std::vector<FakeDevice> gpus{sum_device("0:0", DeviceType::gpu),
                               sum_device("0:1", DeviceType::gpu)};
  gpus[1].facts.name = "faster";
  gpus[1].ops_per_s = 64e6;
  MissingRates unequal(std::move(gpus));
  CHECK(unequal.size_for(std::chrono::milliseconds(16)) == 1 << 20);
  CHECK(unequal.rates.at({"sum", "0:1"}).ops_per_s == doctest::Approx(64e6).epsilon(0.05));
  MissingRates little(three_cpus());
  CHECK(little.size_for(std::chrono::seconds(16), Bytes{8} << 12) == 1 << 12);
  CHECK(little.lost.empty());
}

TEST_CASE("a host that is slow once, as when it compiles, does not keep a problem small") {
  MissingRates gpu({sum_device("0:0", DeviceType::gpu)});
  gpu.first_takes = std::chrono::seconds(60);  // without a second trial 2^12 items
  CHECK(gpu.size_for(std::chrono::milliseconds(16)) == 1 << 14);
}

TEST_CASE("a trial on a device that hangs goes on with the next of its kind") {
  std::vector<FakeDevice> devices = three_cpus();
  devices[0].script = fails_from(FakeCall::launch, 0, FakeFault::Kind::hang);
  MissingRates first(std::move(devices));
  CHECK(first.size_for(std::chrono::milliseconds(16)) == 1 << 14);
  CHECK(first.lost == std::vector<std::string>{"0:0"});
}
