// A published example of rebalancing: of two devices, one is 95 % busy with 10 tasks waiting, the
// other 30 % with 3; afterwards they are about 65 % and 60 % busy with 6 and 7. A task takes 7.5 %,
// and what the devices have begun takes another 20 % and 7.5 %.
#include <doctest/doctest.h>

#include "tests/support/plan_problem.hpp"

using namespace mgpu;
using mgpu::test::make_strategy;
using mgpu::test::Problem;

namespace {

constexpr double kItem = 0.025;  // seconds; a task is three items
constexpr DeviceIndex kHot{0}, kCold{1};

// Devices of equal speed that begin with these shares, as they did in an earlier sample.
struct Queues {
  Queues(Items hot, Items cold) : problem(hot + cold, {1 / kItem, 1 / kItem}) {
    for (DeviceEstimate& device : problem.devices) device.on_cpu = true;  // two slices in flight
    problem.request.devices = problem.devices;
    const Nanos second = std::chrono::seconds(1);
    source = make_strategy("adaptive")
                 ->begin(problem.request, {SampleShare{{hot, cold}, {second, second}, second}});
  }

  Slice take(DeviceIndex device) {
    const Answer answer = source->next(device);
    REQUIRE(std::holds_alternative<Slice>(answer));
    left[device.value] += std::get<Slice>(answer).size();
    return std::get<Slice>(answer);
  }
  void finish(DeviceIndex device, const Slice& slice) {
    source->finished(device, slice, from_seconds(kItem * static_cast<double>(slice.size())));
  }

  Problem problem;
  std::unique_ptr<SliceSource> source;
  Items left[2] = {0, 0};  // issued so far
};

}  // namespace

TEST_CASE("adaptive: 95 and 30 % busy with 10 and 3 tasks become 62.5 % both, with 6 and 7") {
  // The hot device has 14 items in flight, of which 150 ms have passed: 20 % are left. The cold one
  // is done with two slices, and asks for its next.
  Queues queues(44, 18);
  queues.take(kHot);
  queues.take(kHot);
  const Slice first = queues.take(kCold), second = queues.take(kCold);
  REQUIRE(queues.left[0] == 14);
  REQUIRE(queues.left[1] == 6);
  queues.finish(kCold, first);
  queues.finish(kCold, second);
  const double now = 6 * kItem;
  const auto busy = [&](double end) { return end - now; };
  CHECK(busy(44 * kItem) == doctest::Approx(0.95));
  CHECK(busy(now + 12 * kItem) == doctest::Approx(0.30));

  REQUIRE(queues.source->moved() == 0u);
  queues.take(kCold);
  const Items moved = *queues.source->moved();
  CHECK(queues.source->moved_from(kHot) == moved);
  CHECK(queues.source->moved_from(kCold) == 0);
  CHECK(moved == 13);
  const double hot = 30.0 - static_cast<double>(moved),  // waiting items
      cold = 12.0 + static_cast<double>(moved);          // waiting and just begun
  CHECK(std::round(hot / 3) == 6);
  CHECK(std::round((cold - 3) / 3) == 7);  // without the one that was just begun
  CHECK(busy(14 * kItem + hot * kItem) == doctest::Approx(0.625));
  CHECK(busy(now + cold * kItem) == doctest::Approx(0.625));
}

TEST_CASE("adaptive: devices that end together keep their tasks") {
  Queues queues(44, 44);
  const Slice first = queues.take(kCold);
  queues.take(kHot);
  queues.finish(kCold, first);
  queues.take(kCold);
  CHECK(queues.source->moved() == 0u);
}
