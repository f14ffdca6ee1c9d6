// The replay: it is exact if nothing is made free, and gives what-if times of timelines simple
// enough to know the answer.
#include "lib/profile/bottleneck.hpp"

#include <doctest/doctest.h>

#include <array>
#include <sstream>

#include "tests/support/pairs.hpp"
#include "tests/support/timelines.hpp"

using namespace mgpu;
using test::drawn;

TEST_CASE("with nothing made free the replay gives the recorded makespan to the nanosecond") {
  std::mt19937 random(5);
  std::uniform_int_distribution<std::int64_t> error(-20, 20);
  for (int round = 0; round < 500; ++round) {
    CAPTURE(round);
    Timeline t = test::random_pipeline(random);
    CHECK(replay(t, {}) == t.makespan);
    // Making something free never costs time.
    for (const MadeFree& free : {MadeFree{true, false, false}, MadeFree{false, true, false},
                                 MadeFree{false, false, true}, MadeFree{true, true, true}})
      CHECK(replay(t, free) <= t.makespan);
    for (Command& c : t.commands) {  // also if a clock error made it impossible
      c.started += Nanos{error(random)};
      c.ended = std::max(c.started, c.ended + Nanos{error(random)});
    }
    CHECK(replay(t, {}) == t.makespan);
  }
}

TEST_CASE("what a part of T costs is how much sooner the replay ends without it") {
  std::string uploads, gaps;
  const auto times = [](const char* what, int slice, int begin, int end) {
    return what + (" " + std::to_string(slice)) + " " + std::to_string(begin) + ".." +
           std::to_string(end) + ", ";
  };
  for (int s = 0; s < 4; ++s)  // uploads of 20 back to back, kernels of 5 after each
    uploads += times("up", s, 20 * s, 20 * s + 20) + times("run", s, 20 * s + 20, 20 * s + 25);
  for (int s = 0; s < 10; ++s) gaps += times("run", s, 10 * s + 4, 10 * s + 10);
  // Rows have the number of devices, the makespan and the picture, then the bottleneck and the
  // times without imbalance, transfers, exchanges, launches and the merge.
  for (const auto& [given, expected] : test::pairs_of(R"(
    50 items each in 10 and 30 ns: together 5 + 5/3 items per ns, 100 in 15 ns; the merge adds 3
      2 33 0: run 0 0..10, items 0 0..50 1: run 0 0..30, items 0 50..100, merge 30..33
      = perfect_balance 18 33 - 33 30
    balance needs two devices that showed a rate
      1 10 0: run 0 0..10, items 0 0..5 = none - 10 - 10 10
      2 10 0: run 0 0..10, items 0 0..5 = none - 10 - 10 10
      1 86 0: )" + uploads + R"(down collect 85..86 = free_transfers - 20 - 86 86
    device 0 puts for 20, for which device 1 waits; then both compute for 10
      2 30 0: put>1 0..20 64B, run 0 20..30 1: wait>0 0..20, run 0 20..30, merge 30..30
      = free_exchange - 30 10 30 30
      1 104 0: )" + gaps + R"( = free_launches - 104 - 64 104
    a merge on the host, and on a device: an upload of 10 and gaps of 3 and 2
      2 100 0: run 0 0..58 1: run 0 0..60, merge 62..97 = free_merge - 100 - 100 65
      2 100 0: run 0 0..58, up merge 65..75, run merge 77..90 1: run 0 0..60, merge@0 62..97
      = free_merge - 87 - 95 65
    nothing that saves less than 1 % is called a bottleneck
      1 1000 0: run 0 5..1000 = none - 1000 - 995 1000)")) {
    CAPTURE(given);
    std::istringstream in(given);
    std::size_t devices = 0;
    std::string makespan, picture, found;
    in >> devices >> makespan;
    std::getline(in, picture);
    const Timeline t = drawn(devices, makespan, picture);
    const Bottleneck b = find_bottleneck(t);
    found = b.name;
    for (const auto& time :
         {b.perfect_balance, b.free_transfers, b.free_exchange, b.free_launches, b.free_merge})
      found += time ? " " + std::to_string(time->count()) : " -";
    CHECK(found == expected);
    CHECK(replay(t, {}) == t.makespan);
  }
  const Bottleneck none = find_bottleneck(Timeline{});
  CHECK(none.name == "none");
  CHECK_FALSE(none.free_merge);
}

TEST_CASE("a replay keeps what waits for what") {
  // The third slice cannot start before the first is done: without gaps its upload is at 50..60 and
  // its download at 80..130. Without transfers its kernel waits for slice 0 (10) and the queue
  // (20), and keeps its gap of 5.
  const Timeline slots = drawn(1, "140", R"(0:
    up 0 0..10, run 0 10..20, down 0 20..50, up 1 10..20, run 1 20..30, down 1 50..80,
    up 2 60..70, run 2 75..85, down 2 90..140)");
  CHECK(replay(slots, {.launches = true}) == Nanos{130});
  CHECK(replay(slots, {.transfers = true}) == Nanos{35});
  // The merge waits for the device that is last in the replay, not in the record.
  const Timeline last = drawn(2, "60", "0: up 0 0..40, run 0 40..50 1: run 0 0..30, merge 50..60");
  CHECK(replay(last, {.transfers = true}) == Nanos{40});
  // Slices wait for the uploads of prepare, and collect waits for the kernels: only the gaps of 5
  // and 5 go.
  const Timeline ends = drawn(1, "50", "0: up prep 0..20, run 0 25..35, down collect 40..50");
  CHECK(replay(ends, {.launches = true}) == Nanos{40});
}

TEST_CASE(
    "commands that began at the same time are replayed alike, in whatever order they are listed") {
  Timeline t = drawn(2, "40", "0: run 0 0..30, put>1 0..20 64B, run 1 0..10, run 2 30..40");
  std::vector<Command> commands = t.commands;
  const Nanos expected = replay(t, MadeFree{.exchange = true});
  for (const std::array<std::size_t, 3> order : {std::array<std::size_t, 3>{0, 1, 2},
                                                 {0, 2, 1},
                                                 {1, 0, 2},
                                                 {1, 2, 0},
                                                 {2, 0, 1},
                                                 {2, 1, 0}}) {
    for (std::size_t k = 0; k < 3; ++k) t.commands[k] = commands[order[k]];
    CHECK(replay(t, {}) == t.makespan);
    CHECK(replay(t, MadeFree{.exchange = true}) == expected);
  }
}

TEST_CASE("what ends after the sample, by a coarse clock, tells nothing of free launches") {
  Timeline t = drawn(1, "70673312",
                     "0: run 0 60801966..60860177, run 1 75812761..75822079, "
                     "merge 70672632..70673312");
  t.uncertainty = {Nanos{10'566'402}};
  const Bottleneck found = find_bottleneck(t);
  CHECK_FALSE(found.free_launches);
  CHECK(found.free_merge.value() == Nanos{70'672'632});
  CHECK(found.name == "none");
}

TEST_CASE("work of too few pieces is held back by its granularity, not by the balance") {
  const std::vector<std::optional<Nanos>> equal{Nanos{30}, Nanos{30}};
  const Timeline two_of_three =
      drawn(2, "20", "0: run 0 0..20, items 0 0..20 1: run 0 0..10, items 0 20..30, merge 20..20");
  const Bottleneck coarse = find_bottleneck(two_of_three, {30, 10, equal});
  CHECK(coarse.name == "free_granularity");
  CHECK(coarse.free_granularity == Nanos{15});
  const Bottleneck fine = find_bottleneck(two_of_three, {30, 5, equal});
  CHECK(fine.name == "perfect_balance");
  CHECK_FALSE(fine.free_granularity);
  // A sample as fast as an ideal split lacks no balance, though its devices finished apart.
  const std::vector<std::optional<Nanos>> slower{Nanos{40}, Nanos{40}};
  CHECK(find_bottleneck(two_of_three, {30, 10, slower}).name == "none");
  CHECK(find_bottleneck(two_of_three, {30, 5, slower}).name == "none");
  // One piece cannot be shared; a device that was given nothing could have had its part.
  const Timeline one = drawn(2, "30", "0: run 0 0..30, items 0 0..30");
  CHECK(find_bottleneck(one, {30, 30, equal}).name == "free_granularity");
  CHECK(find_bottleneck(one, {30, 30, {Nanos{30}, Nanos{10}}}).name == "free_granularity");
  CHECK(find_bottleneck(one, {30, 1, equal}).name == "perfect_balance");
  CHECK(find_bottleneck(one, {30, 1, equal}).perfect_balance == Nanos{15});
  // The last piece may be a small one: 3 whole ones and one of 1 item.
  const Timeline odd =
      drawn(2, "20", "0: run 0 0..20, items 0 0..20 1: run 0 0..11, items 0 20..31, merge 20..20");
  CHECK(find_bottleneck(odd, {31, 10, equal}).name == "free_granularity");
}

TEST_CASE("devices that slow each other down, and what nothing explains, have a name") {
  const Timeline halves =
      drawn(2, "80", "0: run 0 0..80, items 0 0..50 1: run 0 0..80, items 0 50..100, merge 80..80");
  struct Known {
    int alone;                       // of each device
    std::vector<double> contention;  // by the probes
    const char* name;
    std::optional<Nanos> free_contention, unexplained;
  };
  for (const Known& known : {Known{100, {1.6, 1.6}, "free_contention", Nanos{50}, {}},
                             // The sample shows less of it than the probes.
                             {150, {1.6, 1.6}, "free_contention", Nanos{75}, {}},
                             // The probes explain 20 of 30 ns, then 5.
                             {100, {1.3333333, 1.3333333}, "free_contention", Nanos{60}, Nanos{}},
                             {100, {1.0666667, 1.0666667}, "unexplained", Nanos{75}, Nanos{55}},
                             {100, {1, 1}, "unexplained", Nanos{80}, Nanos{50}},
                             {100, {}, "unexplained", {}, Nanos{50}},
                             {156, {1.6, 1.6}, "free_contention", Nanos{78}, {}},
                             {160, {1.6, 1.6}, "none", Nanos{80}, {}},
                             {154, {1, 1}, "none", Nanos{80}, {}}}) {
    CAPTURE(known.alone);
    CAPTURE(known.contention);
    const Nanos alone{known.alone};
    const Bottleneck found = find_bottleneck(halves, {100, 1, {alone, alone}, known.contention});
    CHECK(found.name == known.name);
    CHECK(found.free_contention == known.free_contention);
    CHECK(found.unexplained.has_value() == (found.name == "unexplained"));
    if (found.unexplained) CHECK(found.unexplained == known.unexplained);
  }
  // One device with work has none that could slow it down.
  const Timeline one = drawn(2, "80", "0: run 0 0..80, items 0 0..100 1: ");
  CHECK_FALSE(find_bottleneck(one, {100, 1, {Nanos{50}, Nanos{50}}, {2, 2}}).free_contention);
}

TEST_CASE(
    "GPUs that their shares do not fill are held back by occupancy, if nothing else may be why") {
  const auto held_back = [](const std::string& commands, std::vector<double> contention,
                            bool separate) {
    const Timeline halves = drawn(2, "80", commands);
    return find_bottleneck(halves,
                           {100, 1, {Nanos{100}, Nanos{100}}, std::move(contention), separate});
  };
  const std::string alone =
      "0: run 0 0..80, items 0 0..50 1: run 0 0..80, items 0 50..100, merge 80..80";
  const Bottleneck found = held_back(alone, {1, 0.9}, true);
  CHECK(found.name == "perfect_occupancy");
  CHECK(found.perfect_occupancy == Nanos{50});
  CHECK(time_without(found) == Nanos{50});
  CHECK(held_back(alone, {1, 1.1}, true).name == "unexplained");  // they may slow each other down
  CHECK(held_back(alone, {}, true).name == "unexplained");
  CHECK(held_back(alone, {1, 1}, false).name == "unexplained");
  const std::string waits =
      "0: wait>1 0..1, run 0 1..80, items 0 0..50 1: run 0 0..80, items 0 50..100, merge 80..80";
  CHECK(held_back(waits, {1, 1}, true).name == "unexplained");  // the kernels may wait themselves
  const std::string puts =
      "0: put>1 0..1 64B, run 0 1..80, items 0 0..50 1: run 0 0..80, items 0 50..100, merge 80..80";
  CHECK(held_back(puts, {1, 1}, true).name == "perfect_occupancy");
}

TEST_CASE("a case that is much slower than ideal is never held back by nothing") {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> factor(0.2, 2);
  for (int round = 0; round < 500; ++round) {
    CAPTURE(round);
    const Timeline t = test::random_pipeline(random);
    KnownOfCase known{100, 1, {}, {}};
    double rates = 0;
    for (std::size_t i = 0; i < t.devices; ++i) {
      const Nanos alone = from_seconds(seconds(t.makespan) * factor(random));
      known.alone.emplace_back(alone);
      rates += 1 / seconds(alone);
    }
    const double efficiency = 1 / rates / seconds(t.makespan);
    if (t.devices > 1 && efficiency < 0.85) CHECK(find_bottleneck(t, known).name != "none");
  }
}
