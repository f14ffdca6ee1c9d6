// Samples computed again: the assignment of slices to devices, and the devices found wrong.
#include "lib/session/integrity.hpp"

#include <doctest/doctest.h>

#include "lib/base/error.hpp"

using namespace mgpu;

namespace {

constexpr DeviceIndex d0{0}, d1{1};
const Recomputation sound{"a1", true}, other{"b2", true}, bad{"c3", false}, none_given{};

}  // namespace

TEST_CASE("each device gets its own slices again, in order, and it is over when all are finished") {
  ReplaySource source({{{0, 10}, {10, 20}}, {{20, 30}}});
  CHECK(source.next(d0) == Answer(Slice{0, 10}));
  CHECK(source.next(d1) == Answer(Slice{20, 30}));
  CHECK(source.next(d1) == Answer(Wait{true}));  // nothing more will come: it may collect
  CHECK(source.next(d0) == Answer(Slice{10, 20}));
  source.finished(d0, {0, 10}, Nanos{});
  source.finished(d1, {20, 30}, Nanos{});
  CHECK(source.next(d1) == Answer(Wait{true}));
  source.finished(d0, {10, 20}, Nanos{});
  CHECK(source.next(d0) == Answer(Done{}));
  CHECK_THROWS_AS(source.rejected(d0, {0, 10}, 5), Error);
  CHECK_THROWS_AS(source.lost(d0, {}), Error);
}

TEST_CASE("the slices of one device are another's, next to its own and in order") {
  RawSample sample;
  for (const auto& [device, begin, end] :
       {std::tuple{d1, 40, 50}, {d0, 0, 20}, {d0, 30, 40}, {d1, 20, 30}}) {
    RawSlice& slice = sample.slices.emplace_back();
    slice.device = device;
    slice.begin = static_cast<Items>(begin);
    slice.end = static_cast<Items>(end);
  }
  const auto given = slices_with(sample, 2, 0, 1);
  CHECK(given[0].empty());
  CHECK(given[1] == std::vector<Slice>{{0, 20}, {20, 30}, {30, 40}, {40, 50}});
  CHECK(slices_with(sample, 2, 0, 0)[0] == std::vector<Slice>{{0, 20}, {30, 40}});
}

TEST_CASE("a third device outvotes the one that disagrees with it") {
  CHECK(outvoted(sound, other, other, true, 0, 1) == 0);
  CHECK(outvoted(sound, other, sound, true, 0, 1) == 1);
  CHECK_FALSE(outvoted(sound, other, bad, true, 0, 1));
}

TEST_CASE("of two devices the reference decides, if it can, unless one disagrees with itself") {
  CHECK(outvoted(sound, bad, sound, false, 0, 1) == 1);
  CHECK(outvoted(bad, sound, bad, false, 0, 1) == 0);
  CHECK(outvoted(bad, sound, sound, false, 0, 1) ==
        0);  // asked again it gives the same as the other one
  CHECK_FALSE(outvoted(sound, other, sound, false, 0, 1));
  CHECK_FALSE(outvoted(sound, bad, other, false, 0, 1));
  CHECK_FALSE(outvoted(sound, other, none_given, false, 0, 1));
  CHECK(outvoted(sound, other, none_given, false, 0, 0) == 0);  // a single device
}
