// The announced time of a run against the time that the run then takes, on a virtual clock.
#include "app/time_estimate.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <map>

#include "tests/support/quiet_observer.hpp"
#include "tests/support/sum_session.hpp"
#include "tests/support/sum_suite.hpp"

using namespace mgpu;
using namespace mgpu::test;

namespace {

SuiteInfo shaped() {
  SuiteInfo suite = sum_suite();
  suite.shape = [](const SuiteParams& params) {
    Shape shape;
    shape.items = params.size;
    shape.cost.ops = 1;
    return shape;
  };
  return suite;
}

}  // namespace

TEST_CASE("the announced time of a run is the time that it takes") {
  const SuiteInfo suite = shaped();
  const std::vector<FakeDevice> fakes{sum_device("0:0", DeviceType::gpu),
                                      sum_device("0:1", DeviceType::gpu)};
  for (const char* strategies : {"single,equal,dynamic", "capability"}) {
    for (const std::size_t samples : {0, 3, 20}) {
      CAPTURE(strategies);
      CAPTURE(samples);
      SessionOptions options = options_on({fakes[0].facts, fakes[1].facts},
                                          problem_of(suite, 1'000'000), kBothModes, strategies);
      options.stop.exactly = samples;
      // The other device is like it.
      options.suite_rates[{"sum", "0:0"}] = SuiteRate{.ops_per_s = 1e6};
      FakeBackend backend(fakes, sum_kernels());
      QuietObserver observer;
      const Nanos begin = backend.now();
      run_session(backend, options, {}, observer);
      const double taken = seconds(backend.now() - begin);
      const ExpectedTime expected = expected_time(options).value();
      CHECK(seconds(expected.time) == doctest::Approx(taken).epsilon(0.3));
      CHECK_FALSE(expected.at_least);
      options.suite_rates.clear();
      REQUIRE(expected_time(options).has_value() == (samples == 0));
      if (samples > 0) continue;
      CHECK(expected_time(options)->at_least);
      CHECK(seconds(expected_time(options)->time) < taken);
      CHECK(time_estimate(options).find(" cases, at least ") != std::string::npos);
      options.stop = StopRule::quick();
      CHECK(time_estimate(options).find(" cases\n") != std::string::npos);
    }
  }
}

TEST_CASE("the announced time of an overview is that of measured ones within 30 %") {
  // In seconds, as in results/overview.md: of GPUs, without compiled kernels and with them; of CPUs
  // it is not known whether they are compiled.
  struct Measured {
    DeviceType type;
    std::size_t devices;
    double slow, cold, warm;
  };
  const SuiteInfo suite = shaped();
  for (const auto& [type, devices, slow, cold, warm] :
       {Measured{DeviceType::gpu, 1, 1, 35, 17}, Measured{DeviceType::gpu, 2, 1, 46.5, 33},
        Measured{DeviceType::gpu, 2, 3, 46, 39}, Measured{DeviceType::gpu, 4, 1, 53.6, 43},
        Measured{DeviceType::gpu, 4, 3, 53, 53}, Measured{DeviceType::cpu, 1, 1, 29, 29},
        Measured{DeviceType::cpu, 2, 1, 57, 40}, Measured{DeviceType::cpu, 2, 3, 61, 58}}) {
    CAPTURE(devices);
    CAPTURE(slow);
    std::vector<Device> facts;
    for (std::size_t k = 0; k < devices; ++k)
      facts.push_back(sum_device(fmt::format("0:{}", k), type).facts);
    SessionOptions options = options_on(facts, problem_of(suite, 1'000), kBothModes, "equal");
    options.problems.resize(12, options.problems.front());
    options.sizes_within.emplace();
    if (slow > 1) {
      options.handicaps.resize(devices);
      options.handicaps.back().slow = slow;
    }
    const auto announces = [&](double taken) {
      return std::abs(taken / seconds(expected_time(options).value().time) - 1) <= 0.3;
    };
    CHECK(announces(warm));
    options.first_use = true;
    CHECK(announces(cold));
    CHECK(time_estimate(options).starts_with("an overview of 12 suites, about "));
  }
}

TEST_CASE("the announced number of cases is that of the progress lines") {
  struct Counting : QuietObserver {
    void progress(const Progress& progress) override {
      if (progress.total > 0) totals[progress.group] = progress.total;
    }
    std::map<std::size_t, std::size_t> totals;  // by group
  };
  const SuiteInfo suite = shaped();
  const std::vector<FakeDevice> fakes{sum_device("0:0", DeviceType::gpu),
                                      sum_device("0:1", DeviceType::gpu)};
  for (const char* strategies : {"single", "single,equal,dynamic", "capability"}) {
    CAPTURE(strategies);
    SessionOptions options = options_on({fakes[0].facts, fakes[1].facts}, problem_of(suite, 1'000),
                                        kBothModes, strategies);
    options.stop.exactly = 1;
    FakeBackend backend(fakes, sum_kernels());
    Counting observer;
    run_session(backend, options, {}, observer);
    std::size_t cases = 0;
    for (const auto& [group, total] : observer.totals) cases += total;
    CHECK(time_estimate(options).find(fmt::format(": {} cases", cases)) != std::string::npos);
  }
}

TEST_CASE("slow devices, more devices and limits count in the announced time") {
  const SuiteInfo suite = shaped();
  const FakeDevice fake = sum_device("0:0", DeviceType::gpu);
  SessionOptions options =
      options_on({fake.facts, fake.facts}, problem_of(suite, 1'000'000), {Mode::resident}, "equal");
  options.stop.exactly = 100;
  options.suite_rates[{"sum", "0:0"}] = SuiteRate{.ops_per_s = 1e6};
  const double equal = seconds(expected_time(options)->time);
  CHECK(equal == doctest::Approx(250).epsilon(0.05));  // 1 s, 1 s and 0.5 s
  options.handicaps.resize(2);
  options.handicaps[1].slow = 3;
  CHECK(seconds(expected_time(options)->time) == doctest::Approx(550).epsilon(0.05));
  options.strategies = parse_strategies("capability");
  CHECK(seconds(expected_time(options)->time) == doctest::Approx(475).epsilon(0.05));
  options.time_limit = std::chrono::seconds(9);
  CHECK(expected_time(options)->time == *options.time_limit);
}
