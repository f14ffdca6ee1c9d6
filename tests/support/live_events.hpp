// An observer that stores the metrics of samples under way, and a check of them.
#pragma once

#include <doctest/doctest.h>

#include <numeric>
#include <utility>
#include <vector>

#include "tests/support/quiet_observer.hpp"

namespace mgpu::test {

class Listening final : public QuietObserver {
 public:
  void live(const LiveEvent& event) override { events.push_back(event); }
  std::vector<LiveEvent> events;
};

// Checks the events of each sample, and returns the most that one had.
inline std::size_t check_samples(const std::vector<LiveEvent>& events, std::size_t devices,
                                 std::uint64_t total) {
  std::size_t most = 0, in_sample = 0;
  double work = 0;
  Nanos before{};
  std::uint64_t done = 0;
  for (const LiveEvent& event : events) {
    if (event.devices.size() != devices) continue;
    CHECK(event.total == total);
    CHECK(event.elapsed == before + event.interval);
    CHECK(event.done >= done);
    before = event.elapsed;
    done = event.done;
    work += event.rate * seconds(event.interval);
    ++in_sample;
    if (!event.ended) continue;
    CHECK(event.done == total);
    CHECK(std::accumulate(event.shares.begin(), event.shares.end(), 0.0) == doctest::Approx(1));
    most = std::max(most, std::exchange(in_sample, 0));
    CHECK(work > 0);
    work = 0;
    before = {};
    done = 0;
  }
  return most;
}

}  // namespace mgpu::test
