// The noise floor: what it is of given medians, that a device without noise has none, and that it
// is cached and found again.
#include "lib/session/noise.hpp"

#include <doctest/doctest.h>

#include "lib/predict/suite_rates.hpp"
#include "lib/session/calibrate.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/sum_workload.hpp"

using namespace mgpu;
using namespace mgpu::test;

namespace {

std::vector<Nanos> medians(std::initializer_list<std::int64_t> all) {
  std::vector<Nanos> times;
  for (const std::int64_t time : all) times.push_back(Nanos{time});
  return times;
}

const SuiteInfo& sum_suite() {
  static SuiteInfo info = [] {
    SuiteInfo made;
    made.name = "sum";
    made.size_name = "items";
    made.default_size = made.quick_size = 1 << 16;
    made.modes = {Mode::resident};
    made.make = [](const SuiteParams& params) -> std::unique_ptr<Workload> {
      return std::make_unique<SumWorkload>(params.size);
    };
    return made;
  }();
  return info;
}

FakeDevice device(const std::string& id) {
  FakeDevice made;
  made.facts.id = id;
  made.facts.global_memory = made.facts.max_allocation = Bytes{1} << 30;
  made.ops_per_s = 1e9;
  return made;
}

}  // namespace

TEST_CASE("the floor is what 95 % of pairs of medians stay within; too few medians have none") {
  CHECK(noise_of({medians({100, 110, 100, 100})}) == doctest::Approx(0.1));  // 3 of 6 pairs
  CHECK(noise_of({medians({100, 100, 100, 100})}) == 0.0);
  // 28 pairs of each, 7 of the second with the one that stands out: 49 within 5 %, the 95th
  // percentile of 56 is beyond.
  CHECK(noise_of({medians({100, 105, 100, 100, 100, 100, 100, 100}),
                  medians({200, 200, 200, 200, 200, 200, 200, 300})}) == doctest::Approx(0.5));
  CHECK_FALSE(noise_of({medians({100, 200, 300})}));
  CHECK_FALSE(noise_of({medians({0, 0, 0, 0})}));
  CHECK_FALSE(noise_of({}));
}

TEST_CASE(
    "devices that always take as long have no noise; a device that fails is said, not guessed "
    "about") {
  FakeBackend backend({device("0:0"), device("0:1")}, sum_kernels());
  const std::vector<Device> facts = backend.enumerate().devices;
  const Problem problem = problem_of_reference_size({&sum_suite(), {}}, false);
  const auto noise = measure_noise(backend, problem, facts);
  REQUIRE(noise);
  CHECK(noise->share < 1e-3);
  CHECK_FALSE(noise->load);  // of a virtual clock there is none

  FakeDevice broken = device("0:1");
  broken.script = fails_from(FakeCall::launch, 0, FakeFault::Kind::error);
  FakeBackend failing({device("0:0"), broken}, sum_kernels());
  CHECK_THROWS_AS(measure_noise(failing, problem, facts), Error);
  std::vector<std::string> warnings;
  const auto rows = calibrate_noise(failing, facts, {&sum_suite(), 1}, {}, ~Bytes{0},
                                    CalibrationStore({}, {}), false, warnings);
  REQUIRE(rows.size() == 1);
  CHECK_FALSE(rows[0].share);
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].find("the noise of sum is not known") == 0);
}

TEST_CASE(
    "noise of a busy machine is said, with what other programs used, and neither returned nor "
    "cached") {
  CHECK_FALSE(why_not_kept({0.25, std::nullopt}));
  CHECK(why_not_kept({1.18, std::nullopt}) ==
        "medians of the same work lay 118 % apart, which is above 25 %");
  CHECK(why_not_kept({0.12, "other programs used about 70 % of the cores"}) ==
        "medians of the same work lay 12 % apart; other programs used about 70 % of the cores");

  FakeDevice busier = device("0:0");  // the longer it goes on
  busier.ops_per_s = 1e8;
  busier.script = [](FakeCall call, std::uint64_t number) {
    return call == FakeCall::launch
               ? FakeFault{FakeFault::Kind::slow, 1 + 0.1 * static_cast<double>(number)}
               : FakeFault{};
  };
  FakeBackend backend({busier}, sum_kernels());
  const std::vector<Device> facts = backend.enumerate().devices;
  const TemporaryFolder folder;
  const CalibrationStore store(folder.path(), {"1", "kernels"});
  std::vector<std::string> warnings;
  const auto rows =
      calibrate_noise(backend, facts, {&sum_suite(), 1}, {}, ~Bytes{0}, store, false, warnings);
  REQUIRE(rows.size() == 1);
  CHECK_FALSE(rows[0].share);
  CHECK(rows[0].origin == CalibrationOrigin::none);
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].starts_with("the noise of sum was not cached: medians of the same work lay "));
  CHECK(warnings[0].ends_with(" % apart, which is above 25 %; calibrate on an idle machine"));
  std::map<std::string, double> known;
  add_cached_noise(problem_of_reference_size({&sum_suite(), {}}, false), facts, store, known,
                   warnings);
  CHECK(known.empty());
}

TEST_CASE("noise is cached for the set it was measured on, in whatever order, and no other") {
  const TemporaryFolder folder;
  const CalibrationStore store(folder.path(), {"1", "kernels"});
  FakeBackend backend({device("0:0"), device("0:1")}, sum_kernels());
  std::vector<Device> facts = backend.enumerate().devices;
  std::vector<std::string> warnings;
  const Problem problem = problem_of_reference_size({&sum_suite(), {}}, false);
  const auto measured =
      calibrate_noise(backend, facts, {&sum_suite(), 1}, {}, ~Bytes{0}, store, false, warnings);
  CHECK(measured.at(0).origin == CalibrationOrigin::measured);
  std::swap(facts[0], facts[1]);
  CHECK(calibrate_noise(backend, facts, {&sum_suite(), 1}, {}, ~Bytes{0}, store, false, warnings)
            .at(0)
            .origin == CalibrationOrigin::cached);
  CHECK(calibrate_noise(backend, facts, {&sum_suite(), 1}, {}, ~Bytes{0}, store, true, warnings)
            .at(0)
            .origin == CalibrationOrigin::measured);

  std::map<std::string, double> known;
  add_cached_noise(problem, facts, store, known, warnings);
  CHECK(known.count("sum") == 1);
  known.clear();
  add_cached_noise(problem, std::span(facts).first(1), store, known, warnings);
  CHECK(known.empty());
  CHECK(warnings.empty());
}
