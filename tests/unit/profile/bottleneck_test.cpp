// The replay: exact with nothing made free, and what-if times of timelines simple enough to know
// the answer.
#include "lib/profile/bottleneck.hpp"

#include <doctest/doctest.h>

#include "tests/support/timelines.hpp"

using namespace mgpu;
using test::TimelineBuilder;

TEST_CASE("with nothing made free the replay gives the recorded makespan to the nanosecond") {
  std::mt19937 random(5);
  for (int round = 0; round < 500; ++round) {
    CAPTURE(round);
    const Timeline t = test::random_pipeline(random);
    CHECK(replay(t, {}) == t.makespan);
    // Making something free never costs time.
    for (const MadeFree free : {MadeFree{true, false, false}, MadeFree{false, true, false},
                                MadeFree{false, false, true}, MadeFree{true, true, true}})
      CHECK(replay(t, free) <= t.makespan);
  }
}

TEST_CASE("the replay is exact on timelines that a clock error made impossible, too") {
  std::mt19937 random(6);
  std::uniform_int_distribution<std::int64_t> error(-20, 20);
  for (int round = 0; round < 300; ++round) {
    CAPTURE(round);
    Timeline t = test::random_pipeline(random);
    for (Command& c : t.commands) {
      c.started += Nanos{error(random)};
      c.ended = std::max(c.started, c.ended + Nanos{error(random)});
    }
    CHECK(replay(t, {}) == t.makespan);
  }
}

TEST_CASE("perfect balance of an equal split over 1:3 devices is where both finish together") {
  // 50 items each: 10 ns and 30 ns. Together 5 + 5/3 items per ns: 100 items take 15 ns; the merge
  // adds 3.
  const Timeline t = TimelineBuilder(2, 33)
                         .compute(0, 0, 0, 10)
                         .compute(1, 0, 0, 30)
                         .slice(0, 0, 0, 50)
                         .slice(1, 0, 50, 100)
                         .merge(30, 33)
                         .get();
  const Bottleneck b = find_bottleneck(t);
  CHECK(b.perfect_balance.value() == Nanos{18});
  CHECK(b.free_merge.value() == Nanos{30});
  CHECK(b.free_transfers.value() == Nanos{33});
  CHECK(b.free_launches.value() == Nanos{33});
  CHECK(b.name == "perfect_balance");
}

TEST_CASE("perfect balance is undefined where fewer than two devices showed a rate") {
  CHECK_FALSE(find_bottleneck(TimelineBuilder(1, 10).compute(0, 0, 0, 10).slice(0, 0, 0, 5).get())
                  .perfect_balance);
  CHECK_FALSE(find_bottleneck(TimelineBuilder(2, 10).compute(0, 0, 0, 10).slice(0, 0, 0, 5).get())
                  .perfect_balance);
}

TEST_CASE("an upload-bound pipeline without its uploads takes the time of its kernels") {
  // Uploads of 20 back to back, kernels of 5 after each, two slices in flight.
  TimelineBuilder b(1, 86);
  for (std::int32_t s = 0; s < 4; ++s)
    b.upload(0, s, 20 * s, 20 * s + 20).compute(0, s, 20 * s + 20, 20 * s + 25);
  b.download(0, kCollect, 85, 86);
  const Bottleneck found = find_bottleneck(b.get());
  CHECK(found.free_transfers.value() == Nanos{20});
  CHECK(found.name == "free_transfers");
}

TEST_CASE("without exchanges neither the copy nor the waiting for it takes time") {
  // Device 0 puts for 20, device 1 waits for that; then both compute for 10.
  const Timeline t = TimelineBuilder(2, 30)
                         .exchange(0, 1, false, 0, 20, 64)
                         .exchange(1, 0, true, 0, 20)
                         .compute(0, 0, 20, 30)
                         .compute(1, 0, 20, 30)
                         .merge(30, 30)
                         .get();
  const Bottleneck b = find_bottleneck(t);
  CHECK(b.free_exchange.value() == Nanos{10});
  CHECK(b.free_transfers.value() == Nanos{30});
  CHECK(b.name == "free_exchange");
  CHECK(replay(t, {}) == Nanos{30});
  CHECK_FALSE(find_bottleneck(TimelineBuilder(1, 10).compute(0, 0, 0, 10).get()).free_exchange);
}

TEST_CASE(
    "the third slice cannot start before the first is done, even when its transfers are free") {
  // Kernels on one queue overlap nothing; downloads of 30 hold the slot. Launches free: uploads at
  // 0, 0+10, then slot-bound.
  const Timeline t = TimelineBuilder(1, 140)
                         .upload(0, 0, 0, 10)
                         .compute(0, 0, 10, 20)
                         .download(0, 0, 20, 50)
                         .upload(0, 1, 10, 20)
                         .compute(0, 1, 20, 30)
                         .download(0, 1, 50, 80)
                         .upload(0, 2, 60, 70)  // 10 after slice 0 was done
                         .compute(0, 2, 75, 85)
                         .download(0, 2, 90, 140)
                         .get();
  // Without gaps: upload 50-60, compute 60-70, download max(70, 80) = 80-130.
  CHECK(replay(t, {.launches = true}) == Nanos{130});
  // Without transfers: compute 0 from 0 to 10, compute 1 from 10 to 20, compute 2 waits for slice 0
  // (10), queue (20), gap 5: 25-35.
  CHECK(replay(t, {.transfers = true}) == Nanos{35});
}

TEST_CASE("free launches take away every gap and nothing else") {
  TimelineBuilder b(1, 104);
  for (std::int32_t s = 0; s < 10; ++s) b.compute(0, s, 10 * s + 4, 10 * s + 10);
  const Bottleneck found = find_bottleneck(b.get());
  CHECK(found.free_launches.value() == Nanos{64});  // 10 kernels of 6, and the 4 after the last
  CHECK(found.name == "free_launches");
}

TEST_CASE(
    "what ends after the sample, by a clock known to milliseconds, tells nothing of free "
    "launches") {
  Timeline t = TimelineBuilder(1, 70'673'312)
                   .compute(0, 0, 60'801'966, 60'860'177)
                   .compute(0, 1, 75'812'761, 75'822'079)
                   .merge(70'672'632, 70'673'312)
                   .get();
  t.uncertainty = {Nanos{10'566'402}};
  const Bottleneck found = find_bottleneck(t);
  CHECK_FALSE(found.free_launches);
  CHECK(found.free_merge.value() == Nanos{70'672'632});
  CHECK(found.name == "none");
}

TEST_CASE("a free merge ends the run where the merge began, on the host and on a device") {
  const Timeline host =
      TimelineBuilder(2, 100).compute(0, 0, 0, 58).compute(1, 0, 0, 60).merge(62, 97).get();
  CHECK(find_bottleneck(host).free_merge.value() == Nanos{65});
  CHECK(find_bottleneck(host).name == "free_merge");
  const Timeline device = TimelineBuilder(2, 100)
                              .compute(0, 0, 0, 58)
                              .compute(1, 0, 0, 60)
                              .upload(0, kMerge, 65, 75)
                              .compute(0, kMerge, 77, 90)
                              .merge(62, 97, DeviceIndex{0})
                              .get();
  const Bottleneck b = find_bottleneck(device);
  CHECK(b.free_merge.value() == Nanos{65});
  CHECK(b.free_transfers.value() == Nanos{87});  // the merge's upload of 10 and its gap of 3
  CHECK(b.free_launches.value() == Nanos{95});   // gaps of 3 and 2
}

TEST_CASE("the merge waits for the device that is last in the replay, not in the record") {
  // Device 0 is last only because of its upload.
  const Timeline t = TimelineBuilder(2, 60)
                         .upload(0, 0, 0, 40)
                         .compute(0, 0, 40, 50)
                         .compute(1, 0, 0, 30)
                         .merge(50, 60)
                         .get();
  CHECK(replay(t, {.transfers = true}) == Nanos{40});
}

TEST_CASE("slices wait for what prepare uploaded, and collect for the kernels before it") {
  const Timeline t = TimelineBuilder(1, 50)
                         .upload(0, kPrepare, 0, 20)
                         .compute(0, 0, 25, 35)
                         .download(0, kCollect, 40, 50)
                         .get();
  CHECK(replay(t, {.launches = true}) ==
        Nanos{40});  // 20 + 10 + 10: gaps of 5 and 5 gone, waiting kept
}

TEST_CASE("nothing that saves less than 1 % is called a bottleneck") {
  const Timeline t = TimelineBuilder(1, 1000).compute(0, 0, 5, 1000).get();
  CHECK(find_bottleneck(t).free_launches.value() == Nanos{995});
  CHECK(find_bottleneck(t).name == "none");
  const Bottleneck none = find_bottleneck(Timeline{});
  CHECK(none.name == "none");
  CHECK_FALSE(none.free_merge);
}
