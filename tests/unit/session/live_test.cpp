// Metrics of samples under way: their sums are those of the whole sample.
#include "lib/session/live.hpp"

#include <doctest/doctest.h>

#include "tests/support/live_events.hpp"
#include "tests/support/sum_session.hpp"

using namespace mgpu;
using namespace mgpu::test;

TEST_CASE("slices are reported as they end, and nothing is unless it is asked for") {
  SessionOptions options = options_for(2, 1 << 16, "dynamic", {Mode::resident});
  for (const bool asked : {true, false}) {
    Listening observer;
    if (asked)
      options.live_every = std::chrono::microseconds(50);
    else
      options.live_every.reset();
    FakeBackend backend(fake_devices(2, 1e8), sum_kernels());
    options.devices = backend.enumerate().devices;
    run_session(backend, options, {}, observer);
    CHECK(observer.events.empty() == !asked);
    if (asked) CHECK(check_samples(observer.events, 2, 1 << 16) > 1);
  }
}

TEST_CASE("the rate is the suite's operations per second of the interval") {
  SumFaults faults;
  SumWorkload workload(1000, faults);
  LiveSample before{std::chrono::seconds(1), false, {{0, 100, {}}, {0, 100, {}}}};
  LiveSample now{std::chrono::seconds(3),
                 false,
                 {{0, 300, std::chrono::seconds(1)}, {0, 200, std::chrono::seconds(2)}}};
  const LiveEvent event = live_event(workload, before, now);
  CHECK(event.done == 500);
  CHECK(event.rate == doctest::Approx(workload.shape().ops * 0.3 / 2));
  CHECK(event.shares == std::vector<double>{0.6, 0.4});
  CHECK(*event.imbalance_percent == doctest::Approx(100.0 / 3));
}

TEST_CASE("an event is a line of JSON, and words for people") {
  LiveEvent event;
  event.suite = "pinn";
  event.unit = "iterations";
  event.done = 120;
  event.total = 1000;
  event.rate = 3.2e6;
  event.rate_unit = "points/s";
  event.shares = {0.52, 0.48};
  event.imbalance_percent = 1.25;
  event.figures = {{"loss", 0.3125, 110}};
  const std::string line = to_json_line(event);
  CHECK(line.find('\n') + 1 == line.size());
  CHECK(line.find(R"("figures":[{"name":"loss","value":0.3125,"iterations":110}])") !=
        std::string::npos);
  CHECK(words_of(event) ==
        "iterations 120 of 1000, 3.20 Mpoints/s, shares 0.52 / 0.48, imbalance 1.2 %, loss 0.3125");
}
