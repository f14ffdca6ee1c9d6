// Metrics of iterative samples under way, in whole sessions on the fake backend.
#include <doctest/doctest.h>

#include "tests/support/live_events.hpp"
#include "tests/support/rounds_session.hpp"
#include "tests/support/stencil_kernels.hpp"

using namespace mgpu;
using namespace mgpu::test;

TEST_CASE("iterations are reported per interval, with shares and imbalance of that interval") {
  for (const double slow : {1.0, 3.0}) {
    Listening observer;
    RoundsAsked asked{"stencil", stencil_kernels<float>(2)};
    asked.observer = &observer;
    asked.live_every = std::chrono::microseconds(200);
    if (slow > 1) {
      asked.handicaps.resize(3);
      asked.handicaps[1].slow = slow;
    }
    const Report report = run_rounds(asked);
    REQUIRE(report.runs.front().status == Status::ok);
    CHECK(check_samples(observer.events, 3, kRounds) > 2);
    std::vector<LiveEvent> last;
    double imbalance = -1;
    for (const LiveEvent& event : observer.events) {
      if (event.devices.size() != 3) continue;
      if (event.ended) last.push_back(event);
      if (event.imbalance_percent) imbalance = std::max(imbalance, *event.imbalance_percent);
    }
    REQUIRE(last.size() >= 4);
    const LiveEvent& event = last.back();
    CHECK(event.suite == "stencil");
    CHECK(event.strategy == "equal");
    CHECK(event.unit == "iterations");
    CHECK(event.sample == 4);
    for (const double share : event.shares) CHECK(share == doctest::Approx(1.0 / 3));
    CHECK(imbalance >= 0);
    CHECK((imbalance > 30) == (slow > 1));
  }
}
