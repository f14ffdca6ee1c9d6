// Devices that are warmed up before a sample counts.
#include "lib/session/idle_tracker.hpp"

#include <doctest/doctest.h>

using namespace mgpu;
using std::chrono::milliseconds;

namespace {

// Returns a case of the devices first .. first + count - 1, whose last sample took `time` and gave
// items to those for which `items` is not 0.
Case idle_case(std::size_t first, std::vector<Items> items, Nanos time) {
  Case the_case;
  for (std::size_t i = 0; i < items.size(); ++i) the_case.devices.push_back(first + i);
  the_case.times = {time};
  the_case.history.push_back({std::move(items), {}, time});
  return the_case;
}

RawSample idle_sample(std::vector<std::uint32_t> devices, Nanos end) {
  RawSample sample;
  sample.end = end;
  for (const std::uint32_t device : devices) sample.slices.emplace_back().device = {device};
  return sample;
}

}  // namespace

TEST_CASE("a case of short samples starts cold with a device it needs that stood still 2 ms") {
  IdleTracker idle_tracker(3);
  const Nanos then = milliseconds(100), soon = then + milliseconds(1),
              late = then + milliseconds(3);
  idle_tracker.used(idle_sample({0, 1}, then), std::vector<std::size_t>{0, 1});
  CHECK_FALSE(idle_tracker.starts_cold(idle_case(0, {5, 5}, milliseconds(1)), soon));
  CHECK(idle_tracker.starts_cold(idle_case(0, {5, 5}, milliseconds(1)), late));
  CHECK(idle_tracker.starts_cold(idle_case(0, {5, 5, 5}, milliseconds(1)),
                                 soon));  // the third device never worked
  CHECK_FALSE(idle_tracker.starts_cold(idle_case(0, {5, 5, 0}, milliseconds(1)),
                                       soon));  // it does not work here either
  CHECK_FALSE(idle_tracker.starts_cold(idle_case(0, {5, 5}, milliseconds(50)), late));
  idle_tracker.used(idle_sample({0}, late),
                    std::vector<std::size_t>{1});  // device 1 of the session
  CHECK_FALSE(idle_tracker.starts_cold(idle_case(1, {5}, milliseconds(1)), late + milliseconds(1)));
  CHECK(idle_tracker.starts_cold(idle_case(0, {5}, milliseconds(1)), late + milliseconds(1)));
  Case fresh;
  fresh.devices = {0};
  CHECK(idle_tracker.starts_cold(fresh, late));  // before its first sample it may need all devices
  fresh.prediction.expected.emplace().makespan = std::chrono::seconds(3);
  CHECK_FALSE(idle_tracker.starts_cold(fresh, late));  // a sample this long needs no warm-up
}

TEST_CASE("a short sample after which its result was looked at leaves its devices cold") {
  for (const Nanos makespan : {milliseconds(1), milliseconds(5)}) {
    IdleTracker idle_tracker(2);
    const Nanos now = milliseconds(100);
    const std::vector<std::size_t> both{0, 1}, second{1};
    idle_tracker.used(idle_sample({0, 1}, now), both);
    idle_tracker.looked_at(makespan, second);
    const bool is_cold = makespan < milliseconds(5);
    CHECK(idle_tracker.starts_cold(idle_case(0, {5, 5}, makespan), now) == is_cold);
    CHECK_FALSE(idle_tracker.starts_cold(idle_case(0, {5}, makespan), now));
    idle_tracker.used(idle_sample({0, 1}, now), both);  // its result was not examined
    CHECK_FALSE(idle_tracker.starts_cold(idle_case(0, {5, 5}, makespan), now));
  }
}
