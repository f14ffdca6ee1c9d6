// The noise floor: its value for given medians, devices without noise, and its cache.
#include "lib/session/noise.hpp"

#include <doctest/doctest.h>

#include "lib/predict/suite_rates.hpp"
#include "lib/session/calibrate.hpp"
#include "tests/support/combined_sum.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/sum_session.hpp"

using namespace mgpu;
using namespace mgpu::test;

namespace {

std::vector<Nanos> medians(std::initializer_list<std::int64_t> all) {
  std::vector<Nanos> times;
  for (const std::int64_t time : all) times.push_back(Nanos{time});
  return times;
}

// Devices whose noise is measured with the sum.
struct NoisyDevices {
  explicit NoisyDevices(std::vector<FakeDevice> fakes)
      : backend(std::move(fakes), sum_kernels()), facts(backend.enumerate().devices) {
    suite.default_size = suite.quick_size = 1 << 14;
    suite.modes = {Mode::resident};
  }
  std::vector<NoiseCalibration> calibrate(bool afresh = false) {
    return calibrate_noise(backend, facts, {&suite, 1}, {}, ~Bytes{0}, store, afresh, warnings);
  }
  Problem problem() const { return problem_of_reference_size({&suite, {}}, false); }
  // Returns the cached noise of the first `count` devices.
  std::map<std::string, double> cached(std::size_t count) {
    std::map<std::string, double> known;
    add_cached_noise(problem(), std::span(facts).first(count), store, known, warnings);
    return known;
  }

  SuiteInfo suite = suite_of(
      [](const SuiteParams& params) { return std::make_unique<SumWorkload>(params.size); });
  FakeBackend backend;
  std::vector<Device> facts;
  TemporaryFolder folder;
  CalibrationStore store{folder.path(), {"1", "kernels"}};
  std::vector<std::string> warnings;
};

}  // namespace

TEST_CASE("the floor is what 95 % of pairs of medians stay within; too few medians have none") {
  CHECK(noise_of({medians({100, 110, 100, 100})}) == doctest::Approx(0.1));  // 3 of 6 pairs
  CHECK(noise_of({medians({100, 100, 100, 100})}) == 0.0);
  // Each has 28 pairs, and in the second 7 involve the outlier: 49 are within 5 %, and the 95th
  // percentile of 56 is beyond.
  CHECK(noise_of({medians({100, 105, 100, 100, 100, 100, 100, 100}),
                  medians({200, 200, 200, 200, 200, 200, 200, 300})}) == doctest::Approx(0.5));
  CHECK_FALSE(noise_of({medians({100, 200, 300})}));
  CHECK_FALSE(noise_of({medians({0, 0, 0, 0})}));
  CHECK_FALSE(noise_of({}));
}

TEST_CASE("devices that always take as long have no noise; one that fails is said, not guessed") {
  NoisyDevices still(fake_devices(2));
  const auto noise = measure_noise(still.backend, still.problem(), still.facts);
  REQUIRE(noise);
  CHECK(noise->share < 1e-3);
  CHECK_FALSE(noise->load);  // a virtual clock has none

  std::vector<FakeDevice> fakes = fake_devices(2);
  fakes[1].script = fails_from(FakeCall::launch, 0, FakeFault::Kind::error);
  NoisyDevices failing(fakes);
  CHECK_THROWS_AS(measure_noise(failing.backend, failing.problem(), failing.facts), Error);
  const auto rows = failing.calibrate();
  REQUIRE(rows.size() == 1);
  CHECK_FALSE(rows[0].share);
  CHECK(failing.warnings.size() == 1);
}

TEST_CASE("a warning that is not of a loss does not cost the figure") {
  class Unconnected final : public CombinedSum {
   public:
    using CombinedSum::CombinedSum;
    void connect(PeerGroup&) override { throw Error(ErrorKind::device, "not here"); }
  };
  NoisyDevices devices({sum_device("0:0", DeviceType::gpu), sum_device("0:1", DeviceType::gpu)});
  devices.suite.make = [](const SuiteParams& params) {
    return std::make_unique<Unconnected>(params.size);
  };
  CHECK(measure_noise(devices.backend, devices.problem(), devices.facts));
}

TEST_CASE("noise of a busy machine is said with what others used, and not cached") {
  CHECK_FALSE(why_not_kept({0.25, std::nullopt}));
  CHECK(why_not_kept({1.18, std::nullopt})->find("118 %") != std::string::npos);
  const auto loaded = why_not_kept({0.12, "other programs used about 70 % of the cores"});
  CHECK(loaded->find("12 %") != std::string::npos);
  CHECK(loaded->find("70 %") != std::string::npos);

  std::vector<FakeDevice> fakes = fake_devices(1, 1e8);
  fakes[0].script = [](FakeCall call, std::uint64_t number) {  // the load increases with time
    return call == FakeCall::launch
               ? FakeFault{FakeFault::Kind::slow, 1 + 0.1 * static_cast<double>(number)}
               : FakeFault{};
  };
  NoisyDevices busier(fakes);
  const auto rows = busier.calibrate();
  REQUIRE(rows.size() == 1);
  CHECK_FALSE(rows[0].share);
  CHECK(rows[0].origin == CalibrationOrigin::none);
  CHECK(busier.warnings.size() == 1);
  CHECK(busier.cached(1).empty());
}

TEST_CASE("noise is cached for the set it was measured on, in whatever order, and no other") {
  NoisyDevices devices(fake_devices(2));
  CHECK(devices.calibrate().at(0).origin == CalibrationOrigin::measured);
  std::swap(devices.facts[0], devices.facts[1]);
  CHECK(devices.calibrate().at(0).origin == CalibrationOrigin::cached);
  CHECK(devices.calibrate(true).at(0).origin == CalibrationOrigin::measured);
  CHECK(devices.cached(2).count("sum") == 1);
  CHECK(devices.cached(1).empty());
  CHECK(devices.warnings.empty());
}
