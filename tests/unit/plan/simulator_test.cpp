// Results of the simulator compared with times computed by hand. An item takes a nanosecond unless
// the test says otherwise.
#include "lib/plan/simulator.hpp"

#include <doctest/doctest.h>

#include <functional>

#include "lib/base/error.hpp"
#include "tests/support/simulated_set.hpp"

using namespace mgpu;
using test::SimulatedSet;

namespace {

// A source whose answers a test provides.
class Scripted final : public SliceSource {
 public:
  explicit Scripted(std::function<Answer(DeviceIndex)> answers) : answers_(std::move(answers)) {}
  Answer next(DeviceIndex device) override { return answers_(device); }
  void finished(DeviceIndex, const Slice& slice, Nanos time) override {
    done += slice.size();
    busy.push_back(time.count());
  }
  void rejected(DeviceIndex, const Slice&, Items) override {}
  void lost(DeviceIndex, std::span<const Slice>) override {}
  void joined(DeviceIndex) override {}

  Items done = 0;
  std::vector<std::int64_t> busy;  // one per finished slice

 private:
  std::function<Answer(DeviceIndex)> answers_;
};

}  // namespace

TEST_CASE("simulated times are those computed by hand") {
  test::check_simulations(R"(
    slices have a launch each, a device pays once; one part needs no merge but what is fixed
      1 1000 250 launch=100 fixed=50 merge=30 per_slice=5 : 1000 = 1480 1450
    the slowest decides, and one that was given nothing pays nothing
      3 1000 1000 fixed=7 rate.1=0.25 : 700 300 0 = 1207 707 1207 0
    transfers hide under compute: the first upload and the last download stick out
      1 1000 250 end-to-end in=1 out=1 up=10 down=10 : 1000 = 1050
      1 1000 250 in=1 out=1 up=10 down=10 : 1000 = 1000
    compute hides under transfers: the last kernel sticks out
      1 1000 250 end-to-end in=1 up=0.5 : 1000 = 2250
    at depth two a slice is sent only when the one before the last is finished: slice 1 is computed
    110-210, down 210-310; slice 2 is sent 210-220, computed 220-320, down 320-420
      1 300 100 end-to-end in=1 out=1 up=10 down=1 : 300 = 420 420
    every transfer has its latency, but not one of nothing
      1 100 100 end-to-end in=1 out=1 up=1 down=1 transfer=9 : 100 = 318
      1 100 100 end-to-end in=1 up=1 down=1 transfer=9 : 100 = 209
    replicated inputs go up first, 0-510, and hold one of the two places: 510-620 slice 0, whose
    compute hides the upload of slice 1
      1 300 100 end-to-end in=1 replicated=500 up=1 transfer=10 : 300 = 940
    collecting, from 100 on, waits for the last kernel, not for the last download
      1 100 100 end-to-end out=1 down=1 fixed=40 : 100 = 200
      1 100 100 end-to-end out=1 down=1 fixed=140 : 100 = 240
    a sample's first slice is shorter by its discount, but no shorter than the least
      1 300 100 launch=50 discount=40 : 300 = 410
      1 300 100 launch=50 discount=40 minimum=120 : 300 = 420
    what is fixed is less where fewer take part, and never below nothing
      4 400 100 fixed=50 contention=20 : 100 100 100 100 = 150
      4 400 100 fixed=50 contention=20 : 100 200 100 0 = 230
      4 400 100 fixed=50 contention=20 : 0 400 0 0 = 400
    a link that feeds two devices: four take turns, one alone has its own rate
      4 4000 1000 end-to-end in=1 link=2 up=1 rate=10 : 2000 2000 0 0 = 2100
      4 4000 1000 end-to-end in=1 link=2 up=1 rate=10 : 1000 1000 1000 1000 = 2100
      4 4000 1000 end-to-end in=1 link=2 up=1 rate=10 : 4000 0 0 0 = 4100
    a slow link of one device leaves more to the other: 2 and 8 bytes a ns
      2 1000 1000 end-to-end in=1 link=10 up.0=2 up.1=10 : 200 800 = 900 300 900)");
}

TEST_CASE("a simulation counts slices, items, busy time and the merge; of nothing only that") {
  SimulatedSet set(1, 1000, 250, "launch=100 fixed=50 merge=30 per_slice=5");
  const Simulation simulated = set.shares({1000});
  CHECK(simulated.devices[0].slices == 4);
  CHECK(simulated.devices[0].items == 1000);
  CHECK(simulated.devices[0].busy == Nanos{1450});
  CHECK(simulated.merge == Nanos{30});
  const Simulation three =
      SimulatedSet(3, 300, 100, "end-to-end in=1 out=1 up=10 down=1 fixed=7").shares({300, 0, 0});
  CHECK(three.devices[0].busy == Nanos{420});  // its collecting overlaps the last download
  CHECK(three.devices[2].busy == Nanos{});
  CHECK(SimulatedSet(2, 0, 0, "merge=12").under("equal").makespan == Nanos{12});
}

TEST_CASE("what a slice added to the device's time is counted from the end of the one before") {
  SimulatedSet set(1, 300, 100, "end-to-end in=1 up=2");
  Items given = 0;
  Scripted* self = nullptr;
  Scripted source([&](DeviceIndex) -> Answer {
    if (given < 300) return Slice{given, given += 100};
    return self->done == 300 ? Answer{Done{}} : Answer{Wait{true}};
  });
  self = &source;
  simulate(set.asked(), source);
  // Upload 0-50, compute to 150; the next two slices are computed after it.
  CHECK(source.busy == std::vector<std::int64_t>{150, 100, 100});
}

TEST_CASE("one queue of chunks: the device three times faster takes three times as many") {
  const Simulation simulated = SimulatedSet(2, 1600, 100, "rate.0=3").under("dynamic:chunks=8");
  CHECK(simulated.devices[0].items == 1200);
  CHECK(simulated.devices[1].items == 400);
  CHECK(simulated.makespan == Nanos{400});
}

TEST_CASE("a device that collected may still be given work, and collects again") {
  SimulatedSet set(2, 300, 100, "fixed=10");
  unsigned given = 0;
  Scripted* self = nullptr;
  // Device 1 gets the last slice only when device 0 has finished all of its slices.
  Scripted source([&](DeviceIndex device) -> Answer {
    if (device.value == given && given < 2) return Slice{given * 100, ++given * 100};
    if (device.value == 1 && given == 2 && self->done == 200) {
      ++given;
      return Slice{200, 300};
    }
    return self->done == 300 ? Answer{Done{}} : Answer{Wait{device.value == 0}};
  });
  self = &source;
  const Simulation simulated = simulate(set.asked(), source);
  CHECK(simulated.devices[0].finish == Nanos{110});
  // It asks again at 100, when both are finished, before it would have collected.
  CHECK(simulated.devices[1].items == 200);
  CHECK(simulated.devices[1].finish == Nanos{210});
}

TEST_CASE("a source that breaks its word on the last slice is still asked to the end") {
  SimulatedSet set(1, 200, 100, "fixed=10");
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
  const Simulation simulated = simulate(set.asked(), source);
  CHECK(simulated.devices[0].items == 200);
  CHECK(simulated.makespan == Nanos{100 + 10 + 100 + 10});
}

TEST_CASE("the same question has the same answer") {
  SimulatedSet set(5, 100'003, 1000,
                   "end-to-end in=3 out=1 replicated=4096 link=4 up=2 down=2 launch=500");
  for (std::size_t i = 0; i < 5; ++i) set.estimates[i].items_per_s /= static_cast<double>(i + 1);
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

TEST_CASE("without a rate nothing is predicted, and the device is named") {
  CHECK_THROWS_WITH_AS(SimulatedSet(2, 100, 100, "rate.1=0").under("equal"),
                       doctest::Contains("device 1 of the set"), Error);
}

TEST_CASE("a source that never ends, or gives out too much, is an error and not a loop") {
  SimulatedSet set(2, 100, 100);
  Items given = 0;
  const std::function<Answer(DeviceIndex)> wrong[] = {[](DeviceIndex) -> Answer { return Wait{}; },
                                                      [](DeviceIndex) -> Answer {
                                                        return Slice{0, 40};
                                                      },  // repeatedly
                                                      [](DeviceIndex) -> Answer {
                                                        return Slice{40, 40};
                                                      },
                                                      [](DeviceIndex) -> Answer {
                                                        return Slice{50, 101};
                                                      },
                                                      [&](DeviceIndex) -> Answer {
                                                        if (given < 100)
                                                          return Slice{given, given += 50};
                                                        return Wait{true};
                                                      }};
  for (const auto& answers : wrong) {
    Scripted source(answers);
    try {
      simulate(set.asked(), source);
      FAIL("no failure");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::internal);
    }
  }
}

TEST_CASE("devices ask in turn, as threads that start together do") {
  SimulatedSet set(3, 600, 600);
  std::vector<std::uint32_t> asked;
  Items given = 0;
  Scripted source([&](DeviceIndex device) -> Answer {
    if (given == 600) return Done{};
    asked.push_back(device.value);
    return Slice{given, given += 100};
  });
  simulate(set.asked(), source);
  CHECK(asked == std::vector<std::uint32_t>{0, 1, 2, 0, 1, 2});
}
