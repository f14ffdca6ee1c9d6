// What the simulator says, against times computed by hand: one item takes a nanosecond unless the
// test says otherwise.
#include "lib/plan/simulator.hpp"

#include <doctest/doctest.h>

#include <functional>

#include "lib/base/error.hpp"
#include "lib/plan/static_source.hpp"
#include "lib/plan/strategy.hpp"
#include "tests/support/plan_problem.hpp"

using namespace mgpu;

namespace {

constexpr double kOneNs = 1e9;  // items/s, or bytes/s

struct Set {
  explicit Set(std::size_t devices, Items items, Items piece, Mode mode = Mode::resident)
      : estimates(test::alike_devices(devices, items, piece)) {
    request.items = items;
    request.mode = mode;
  }
  Simulation shares(const std::vector<Items>& items) {
    request.devices = estimates;
    return simulate(request, *make_static_source(request, items));
  }
  Simulation under(const std::string& strategy) {
    request.devices = estimates;
    const StrategyChoice choice = parse_strategies(strategy).front();
    return simulate(request, *choice.info->make(choice.params)->begin(request, {}));
  }

  std::vector<DeviceEstimate> estimates;
  PlanRequest request;
};

// A source that does what a test says.
class Scripted final : public SliceSource {
 public:
  explicit Scripted(std::function<Answer(DeviceIndex)> answers) : answers_(std::move(answers)) {}
  Answer next(DeviceIndex device) override { return answers_(device); }
  void finished(DeviceIndex device, const Slice& slice, Nanos busy) override {
    done += slice.size();
    log.push_back({device.value, busy.count()});
  }
  void rejected(DeviceIndex, const Slice&, Items) override {}
  void lost(DeviceIndex, std::span<const Slice>) override {}
  void joined(DeviceIndex) override {}

  Items done = 0;
  std::vector<std::pair<std::uint32_t, std::int64_t>>
      log;  // device and busy of each finished slice

 private:
  std::function<Answer(DeviceIndex)> answers_;
};

ErrorKind failure(const PlanRequest& request, SliceSource& source) {
  try {
    simulate(request, source);
  } catch (const Error& error) {
    return error.kind();
  }
  FAIL("no failure");
  return ErrorKind::internal;
}

}  // namespace

TEST_CASE("one device takes its slices, a launch each, what it pays once, and the merge") {
  Set set(1, 1000, 250);
  set.estimates[0].launch = Nanos{100};
  set.estimates[0].fixed = Nanos{50};
  set.request.merge = {Nanos{30}, Nanos{5}};
  const Simulation simulated = set.shares({1000});
  CHECK(simulated.devices[0].slices == 4);
  CHECK(simulated.devices[0].items == 1000);
  CHECK(simulated.devices[0].finish == Nanos{4 * 350 + 50});
  CHECK(simulated.devices[0].busy == Nanos{1450});
  CHECK(simulated.merge == Nanos{30});  // of one part there is nothing to combine
  CHECK(simulated.makespan == Nanos{1480});
}

TEST_CASE("the slowest of two devices decides; one that was given nothing pays nothing") {
  Set set(3, 1000, 1000);
  for (DeviceEstimate& device : set.estimates) device.fixed = Nanos{7};
  set.estimates[1].items_per_s = kOneNs / 4;
  const Simulation simulated = set.shares({700, 300, 0});
  CHECK(simulated.devices[0].finish == Nanos{707});
  CHECK(simulated.devices[1].finish == Nanos{1207});
  CHECK(simulated.devices[2].finish == Nanos{});
  CHECK(simulated.devices[2].busy == Nanos{});
  CHECK(simulated.makespan == Nanos{1207});
}

TEST_CASE("transfers hide under compute: the first upload and the last download stick out") {
  Set set(1, 1000, 250, Mode::end_to_end);
  set.request.cost = {1, 1, 1, 0};
  set.estimates[0].up = set.estimates[0].down = 10 * kOneNs;
  const Simulation simulated = set.shares({1000});
  CHECK(simulated.makespan == Nanos{25 + 1000 + 25});
  set.request.mode = Mode::resident;
  CHECK(set.shares({1000}).makespan == Nanos{1000});
}

TEST_CASE("compute hides under transfers: the last kernel sticks out") {
  Set set(1, 1000, 250, Mode::end_to_end);
  set.request.cost = {1, 0, 1, 0};
  set.estimates[0].up = kOneNs / 2;  // 500 a slice, 250 to compute it
  CHECK(set.shares({1000}).makespan == Nanos{4 * 500 + 250});
}

TEST_CASE("at depth two a slice is sent only when the one before the last is finished") {
  // Upload 10, compute 100, download 100. Slice 2 goes up when slice 0 is down at 210; by then
  // slice 1 has been computed.
  Set set(1, 300, 100, Mode::end_to_end);
  set.request.cost = {1, 1, 1, 0};
  set.estimates[0].up = 10 * kOneNs;
  set.estimates[0].down = kOneNs;
  // slice 1: compute 110-210, download 210-310; slice 2: upload 210-220, compute 220-320, download
  // 320-420
  const Simulation simulated = set.shares({300});
  CHECK(simulated.makespan == Nanos{420});
  CHECK(simulated.devices[0].busy == Nanos{420});
}

TEST_CASE("every transfer has its latency, unless there is nothing to transfer") {
  Set set(1, 100, 100, Mode::end_to_end);
  set.request.cost = {1, 1, 1, 0};
  set.estimates[0].up = set.estimates[0].down = kOneNs;
  set.estimates[0].transfer = Nanos{9};
  CHECK(set.shares({100}).makespan == Nanos{109 + 100 + 109});
  set.request.cost.out_bytes = 0;
  CHECK(set.shares({100}).makespan == Nanos{109 + 100});
}

TEST_CASE("replicated inputs go up before the first slice and hold one of the two places") {
  Set set(1, 300, 100, Mode::end_to_end);
  set.request.cost = {1, 0, 1, 500};
  set.estimates[0].up = kOneNs;
  set.estimates[0].transfer = Nanos{10};
  // 0-510 replicated, 510-620 slice 0, which is alone till then; its compute hides the upload of
  // slice 1.
  CHECK(set.shares({300}).makespan == Nanos{510 + 3 * 110 + 100});
}

TEST_CASE("collecting waits for the last kernel, not for the last download") {
  Set set(1, 100, 100, Mode::end_to_end);
  set.request.cost = {0, 1, 1, 0};
  set.estimates[0].down = kOneNs;
  set.estimates[0].fixed = Nanos{40};
  CHECK(set.shares({100}).makespan == Nanos{200});  // 100-140 beside the download
  set.estimates[0].fixed = Nanos{140};
  CHECK(set.shares({100}).makespan == Nanos{240});
}

TEST_CASE("a sample's first slice is shorter by its discount") {
  Set set(1, 300, 100, Mode::resident);
  set.estimates[0].launch = Nanos{50};
  set.estimates[0].first_slice_discount = Nanos{40};
  CHECK(set.shares({300}).makespan == Nanos{300 + 10 + 50 + 50});
  set.estimates[0].minimum_slice = Nanos{120};
  CHECK(set.shares({300}).makespan == Nanos{120 + 150 + 150});
}

TEST_CASE("what is fixed is less where fewer devices take part") {
  Set set(4, 400, 100, Mode::resident);
  for (DeviceEstimate& device : set.estimates) {
    device.fixed = Nanos{50};
    device.per_peer_contention = Nanos{20};
  }
  CHECK(set.shares({100, 100, 100, 100}).makespan == Nanos{150});
  CHECK(set.shares({100, 200, 100, 0}).makespan == Nanos{200 + 30});
  CHECK(set.shares({0, 400, 0, 0}).makespan == Nanos{400});  // never below nothing
}

TEST_CASE("devices on one link take turns: twice as many uploads take twice as long") {
  Set set(4, 4000, 1000, Mode::end_to_end);
  set.request.cost = {1, 0, 1, 0};
  set.request.link_up = 2 * kOneNs;
  for (DeviceEstimate& device : set.estimates) {
    device.up = kOneNs;
    device.items_per_s = 10 * kOneNs;
  }
  CHECK(set.shares({2000, 2000, 0, 0}).makespan == Nanos{2000 + 100});  // the link feeds two
  CHECK(set.shares({1000, 1000, 1000, 1000}).makespan == Nanos{2000 + 100});
  CHECK(set.shares({4000, 0, 0, 0}).makespan == Nanos{4000 + 100});
}

TEST_CASE("a slow link of one device leaves more to the other") {
  Set set(2, 1000, 1000, Mode::end_to_end);
  set.request.cost = {1, 0, 1, 0};
  set.request.link_up = 10 * kOneNs;
  set.estimates[0].up = 2 * kOneNs;
  set.estimates[1].up = 10 * kOneNs;
  const Simulation simulated = set.shares({200, 800});  // 2 and 8 bytes a ns
  CHECK(simulated.devices[0].finish == Nanos{100 + 200});
  CHECK(simulated.devices[1].finish == Nanos{100 + 800});
}

TEST_CASE("what a slice added to the device's time is counted from the end of the one before") {
  Set set(1, 300, 100, Mode::end_to_end);
  set.request.cost = {1, 0, 1, 0};
  set.estimates[0].up = 2 * kOneNs;
  set.request.devices = set.estimates;
  Items given = 0;
  Scripted* self = nullptr;
  Scripted source([&](DeviceIndex) -> Answer {
    if (given < 300) return Slice{given, given += 100};
    return self->done == 300 ? Answer{Done{}} : Answer{Wait{true}};
  });
  self = &source;
  simulate(set.request, source);
  // Upload 0-50, compute to 150; the next two are computed behind it.
  CHECK(source.log ==
        std::vector<std::pair<std::uint32_t, std::int64_t>>{{0, 150}, {0, 100}, {0, 100}});
}

TEST_CASE("one queue of chunks: the device three times faster takes three times as many") {
  Set set(2, 1600, 100);
  set.estimates[0].items_per_s = 3 * kOneNs;
  const Simulation simulated = set.under("dynamic:chunks=8");
  CHECK(simulated.devices[0].items == 1200);
  CHECK(simulated.devices[1].items == 400);
  CHECK(simulated.makespan == Nanos{400});
}

TEST_CASE("a device that collected may still be given work, and collects again") {
  Set set(2, 300, 100);
  for (DeviceEstimate& device : set.estimates) device.fixed = Nanos{10};
  set.request.devices = set.estimates;
  unsigned given = 0;
  Scripted* self = nullptr;
  // Device 1 hears of the last slice only when device 0 has finished all that it was given.
  Scripted source([&](DeviceIndex device) -> Answer {
    if (device.value == given && given < 2) return Slice{given * 100, ++given * 100};
    if (device.value == 1 && given == 2 && self->done == 200) {
      ++given;
      return Slice{200, 300};
    }
    return self->done == 300 ? Answer{Done{}} : Answer{Wait{device.value == 0}};
  });
  self = &source;
  const Simulation simulated = simulate(set.request, source);
  CHECK(simulated.devices[0].finish == Nanos{110});
  // It is asked again at 100, when both are finished, before it would have collected.
  CHECK(simulated.devices[1].items == 200);
  CHECK(simulated.devices[1].finish == Nanos{210});
}

TEST_CASE("a source that breaks its word on the last slice is still asked to the end") {
  Set set(1, 200, 100);
  set.estimates[0].fixed = Nanos{10};
  set.request.devices = set.estimates;
  unsigned asked = 0;
  bool given = false;
  Scripted* self = nullptr;
  Scripted source([&](DeviceIndex) -> Answer {
    ++asked;
    if (asked == 1) return Slice{0, 100};
    if (self->done == 100 && asked > 3 && !given) {
      given = true;
      return Slice{100, 200};
    }
    return self->done == 200 ? Answer{Done{}} : Answer{Wait{true}};
  });
  self = &source;
  const Simulation simulated = simulate(set.request, source);
  CHECK(simulated.devices[0].items == 200);
  CHECK(simulated.makespan == Nanos{100 + 10 + 100 + 10});
}

TEST_CASE("nothing to do takes no time but the merge") {
  Set set(2, 0, 0);
  set.request.merge.fixed = Nanos{12};
  CHECK(set.under("equal").makespan == Nanos{12});
}

TEST_CASE("the same question has the same answer") {
  Set set(5, 100'003, 1000, Mode::end_to_end);
  set.request.cost = {3, 1, 1, 4096};
  set.request.link_up = 4 * kOneNs;
  for (std::size_t i = 0; i < 5; ++i) {
    set.estimates[i].items_per_s = kOneNs / static_cast<double>(i + 1);
    set.estimates[i].up = set.estimates[i].down = 2 * kOneNs;
    set.estimates[i].launch = Nanos{500};
  }
  for (const StrategyInfo& info : all_strategies()) {
    CAPTURE(info.name);
    const Simulation one = set.under(info.name), two = set.under(info.name);
    CHECK(one.makespan == two.makespan);
    for (std::size_t i = 0; i < 5; ++i) {
      CHECK(one.devices[i].items == two.devices[i].items);
      CHECK(one.devices[i].finish == two.devices[i].finish);
    }
  }
}

TEST_CASE("without a rate nothing is predicted") {
  Set set(2, 100, 100);
  set.estimates[1].items_per_s = 0;
  CHECK_THROWS_WITH_AS(set.under("equal"),
                       "device 1 of the set: its rate is not known, so nothing can be predicted",
                       Error);
}

TEST_CASE("a source that never ends, or gives out too much, is an error and not a loop") {
  Set set(2, 100, 100);
  set.request.devices = set.estimates;
  Scripted waits([](DeviceIndex) -> Answer { return Wait{}; });
  CHECK(failure(set.request, waits) == ErrorKind::internal);
  Scripted repeats([](DeviceIndex) -> Answer { return Slice{0, 40}; });
  CHECK(failure(set.request, repeats) == ErrorKind::internal);
  Scripted empty([](DeviceIndex) -> Answer { return Slice{40, 40}; });
  CHECK(failure(set.request, empty) == ErrorKind::internal);
  Scripted beyond([](DeviceIndex) -> Answer { return Slice{50, 101}; });
  CHECK(failure(set.request, beyond) == ErrorKind::internal);
  Items given = 0;
  Scripted silent([&](DeviceIndex) -> Answer {
    if (given < 100) return Slice{given, given += 50};
    return Wait{true};
  });
  CHECK(failure(set.request, silent) == ErrorKind::internal);
}

TEST_CASE("devices ask in turn, as threads that start together do") {
  Set set(3, 600, 600);
  set.request.devices = set.estimates;
  std::vector<std::uint32_t> asked;
  Items given = 0;
  Scripted source([&](DeviceIndex device) -> Answer {
    if (given == 600) return Done{};
    asked.push_back(device.value);
    return Slice{given, given += 100};
  });
  simulate(set.request, source);
  CHECK(asked == std::vector<std::uint32_t>{0, 1, 2, 0, 1, 2});
}
