// The ledger and its interval set, step by step.
#include "lib/plan/ledger.hpp"

#include <doctest/doctest.h>

#include <functional>

#include "lib/base/error.hpp"

using namespace mgpu;

namespace {

constexpr DeviceIndex d0{0}, d1{1}, d2{2};
using MaybeSlice = std::optional<Slice>;

struct Plan {
  Plan(Items items, Items granularity, std::vector<DeviceEstimate> list)
      : devices(std::move(list)) {
    request.items = items;
    request.granularity = granularity;
    request.devices = devices;
  }
  std::vector<DeviceEstimate> devices;
  PlanRequest request;
};

DeviceEstimate fits(Items most, Items pipeline = 0) {
  DeviceEstimate e;
  e.fits = most;
  e.pipeline = pipeline;
  return e;
}

ErrorKind kind_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.kind();
  }
  FAIL("nothing was thrown");
  return ErrorKind::internal;
}

}  // namespace

TEST_CASE("an interval set keeps its ranges merged") {
  IntervalSet set;
  set.add({10, 20});
  set.add({30, 40});
  set.add({5, 5});
  CHECK(set.total() == 20);
  set.add({20, 30});
  CHECK(set.first() == MaybeSlice({10, 40}));
  CHECK(set.remove({15, 20}));
  CHECK_FALSE(set.remove({14, 16}));
  CHECK_FALSE(set.remove({0, 5}));
  CHECK_FALSE(set.remove({39, 41}));
  CHECK(set.total() == 25);
  CHECK(set.take_first(3) == MaybeSlice({10, 13}));
  CHECK(set.take_first(100) == MaybeSlice({13, 15}));
  CHECK_FALSE(set.take_first(0));
  CHECK(set.first() == MaybeSlice({20, 40}));
  for (const Slice twice : {Slice{25, 26}, {10, 21}, {39, 50}, {10, 50}, {20, 40}}) {
    CHECK_THROWS_AS(set.add(twice), Error);
  }
  IntervalSet other;
  other.add({0, 20});
  set.absorb(other);
  CHECK(other.empty());
  CHECK(set.first() == MaybeSlice({0, 40}));
  CHECK(set.take_first(40));
  CHECK(set.empty());
  CHECK_FALSE(set.first());
}

TEST_CASE("pieces are whole granules within what is asked for and what the device takes") {
  const Plan plan(100, 8, {fits(30), fits(1000, 50), fits(7)});
  Ledger ledger(plan.request);
  CHECK(ledger.able() == 2);
  CHECK(ledger.piece(d0) == 30);
  CHECK(ledger.piece(d1) == 50);
  CHECK(ledger.issue_shared(d0, 20) == MaybeSlice({0, 16}));
  CHECK(ledger.issue_shared(d0, 90) == MaybeSlice({16, 40}));  // 30 is 24 in granules
  CHECK(ledger.issue_shared(d0, 1) == MaybeSlice({40, 48}));   // one granule at least
  CHECK_FALSE(ledger.issue_shared(d2, 8));
  CHECK(ledger.issue_shared(d1, 60) == MaybeSlice({48, 100}));  // the odd items go with it
  CHECK_FALSE(ledger.issue_shared(d1, 60));
  CHECK(ledger.in_flight(d0) == 48);
  CHECK(ledger.unfinished() == 100);
}

TEST_CASE("a device too small for a granule can still take all there is when that is less") {
  CHECK(slice_limit(Plan(5, 8, {fits(5)}).request, 5) == 5);
  CHECK(slice_limit(Plan(5, 8, {fits(5)}).request, 4) == 0);
  CHECK(slice_limit(Plan(100, 8, {fits(5)}).request, 7) == 0);
  CHECK(slice_limit(Plan(100, 8, {fits(5)}).request, 1000) == 100);
}

TEST_CASE("work is done only when all of it is finished, and can be undone by a loss") {
  const Plan plan(20, 1, {fits(20), fits(20)});
  Ledger ledger(plan.request);
  ledger.assign(d0, {0, 10});
  CHECK(ledger.issue_own(d0, 10) == MaybeSlice({0, 10}));
  CHECK(ledger.issue_shared(d1, 10) == MaybeSlice({10, 20}));
  ledger.finished(d0, {0, 10});
  CHECK(ledger.nothing_now() == Answer(Wait{true}));
  ledger.finished(d1, {10, 20});
  CHECK(ledger.nothing_now() == Answer(Done{}));
  const Slice lost[] = {{2, 5}, {7, 9}};  // parts of what it had finished
  ledger.lost(d0, lost);
  CHECK(ledger.unfinished() == 5);
  CHECK(ledger.nothing_now() == Answer(Wait{}));
  CHECK_FALSE(ledger.issue_shared(d0, 10));
  CHECK(ledger.issue_shared(d1, 10) == MaybeSlice({2, 5}));
  CHECK(ledger.issue_shared(d1, 10) == MaybeSlice({7, 9}));
  ledger.finished(d1, {2, 5});
  ledger.finished(d1, {7, 9});
  CHECK(ledger.nothing_now() == Answer(Done{}));
}

TEST_CASE("a lost device gives back what it owned and what was in flight, named or not") {
  const Plan plan(30, 1, {fits(30), fits(30)});
  Ledger ledger(plan.request);
  ledger.assign(d0, {0, 30});
  CHECK(ledger.issue_own(d0, 10));
  CHECK(ledger.issue_own(d0, 10));
  const Slice named[] = {{0, 10}};
  ledger.lost(d0, named);
  CHECK(ledger.shared() == 30);
  CHECK(ledger.able() == 1);
  CHECK(ledger.issue_shared(d1, 30) == MaybeSlice({0, 30}));
}

TEST_CASE("a rejected slice returns to where it came from, and smaller ones follow") {
  const Plan plan(32, 4, {fits(32), fits(32)});
  Ledger ledger(plan.request);
  ledger.assign(d0, {0, 16});
  CHECK(ledger.issue_own(d0, 16));
  ledger.rejected(d0, {0, 16}, 9);
  CHECK(ledger.owned(d0) == 16);
  CHECK(ledger.issue_own(d0, 16) == MaybeSlice({0, 8}));
  ledger.rejected(d0, {0, 8}, 100);  // what did not fit is not offered again, whatever is said
  CHECK(ledger.issue_own(d0, 16) == MaybeSlice({0, 4}));
  ledger.rejected(d0, {0, 4}, 0);  // nothing more: the others take it all
  CHECK(ledger.able() == 1);
  CHECK(ledger.owned(d0) == 0);
  CHECK(ledger.issue_shared(d1, 32) == MaybeSlice({0, 32}));
}

TEST_CASE(
    "a device that comes back has its first limit again, and a newcomer the smallest of the "
    "others'") {
  const Plan plan(100, 1, {fits(60, 20), fits(50, 40), fits(0)});
  Ledger ledger(plan.request);
  CHECK(ledger.issue_shared(d1, 50));
  ledger.rejected(d1, {0, 50}, 0);
  ledger.lost(d1, {});
  ledger.joined(d1);
  CHECK(ledger.limit(d1) == 50);
  ledger.joined({3});
  CHECK(ledger.size() == 4);
  CHECK(ledger.limit({3}) == 50);
  CHECK(ledger.piece({3}) == 40);
  CHECK(ledger.able() == 3);
  CHECK(kind_of([&] { ledger.joined({5}); }) == ErrorKind::internal);
}

TEST_CASE("work that nobody can take is an error, not an endless wait") {
  const Plan plan(100, 1, {fits(60), fits(50)});
  Ledger ledger(plan.request);
  CHECK(ledger.issue_shared(d0, 50) == MaybeSlice({0, 50}));
  CHECK(ledger.issue_shared(d1, 50) == MaybeSlice({50, 100}));
  ledger.lost(d1, {});
  CHECK(ledger.nothing_now() == Answer(Wait{}));
  ledger.rejected(d0, {0, 50}, 0);
  CHECK(kind_of([&] { ledger.nothing_now(); }) == ErrorKind::unsupported);
  ledger.joined(d1);  // help arrives
  CHECK(ledger.in_flight(d1) == 0);
  CHECK(ledger.nothing_now() == Answer(Wait{}));
  CHECK_THROWS_WITH_AS(Ledger(Plan(100, 8, {fits(7), fits(0)}).request),
                       "no device of the set can take even one slice of 8 items", Error);
}

TEST_CASE("a device with a slice in flight holds back when the others can take the rest") {
  const Plan plan(40, 1, {fits(40), fits(40), fits(40)});
  Ledger ledger(plan.request);
  CHECK_FALSE(ledger.holds_back(d0, 10));  // nothing in flight: never
  CHECK(ledger.issue_shared(d0, 10));
  CHECK_FALSE(ledger.holds_back(d0, 10));  // three pieces, two others
  CHECK(ledger.issue_shared(d1, 10));
  CHECK(ledger.holds_back(d0, 10));  // two pieces, two others
  CHECK_FALSE(ledger.holds_back(d2, 10));
  ledger.lost(d2, {});
  CHECK_FALSE(ledger.holds_back(d0, 10));  // two pieces, one other
}

TEST_CASE("events about slices that are not there are the caller's mistake") {
  const Plan plan(40, 1, {fits(40), fits(40)});
  Ledger ledger(plan.request);
  CHECK(ledger.issue_shared(d0, 10));
  const Slice elsewhere[] = {{0, 10}};
  CHECK(kind_of([&] { ledger.finished(d1, {0, 10}); }) == ErrorKind::internal);
  CHECK(kind_of([&] { ledger.finished(d0, {0, 9}); }) == ErrorKind::internal);
  CHECK(kind_of([&] { ledger.rejected(d0, {10, 20}, 1); }) == ErrorKind::internal);
  CHECK(kind_of([&] { ledger.lost(d1, elsewhere); }) == ErrorKind::internal);
  CHECK(kind_of([&] { ledger.assign(d1, {5, 15}); }) == ErrorKind::internal);
  CHECK(kind_of([&] { ledger.limit({2}); }) == ErrorKind::internal);
  CHECK(kind_of([] { Ledger none(Plan(1, 0, {fits(1)}).request); }) == ErrorKind::internal);
  CHECK(kind_of([] { Ledger none(Plan(1, 1, {}).request); }) == ErrorKind::internal);
}

TEST_CASE("unissued work moves from the tail of one device to another, in whole granules") {
  const Plan plan(70, 8, {fits(70), fits(70)});
  Ledger ledger(plan.request);
  ledger.assign(d0, {0, 70});
  CHECK(ledger.issue_own(d0, 16) == MaybeSlice({0, 16}));
  CHECK(ledger.move_tail(d0, d1, 20) == 14);  // the odd end of the range, and one granule
  CHECK(ledger.issue_own(d1, 70) == MaybeSlice({56, 70}));
  CHECK(ledger.move_tail(d0, d1, 7) == 0);
  CHECK(ledger.move_tail(d0, d1, 100) == 40);
  CHECK(ledger.owned(d0) == 0);
  CHECK(ledger.move_tail(d0, d1, 100) == 0);
}

TEST_CASE("where parts are nodes of a tree, pieces end where few nodes cover them") {
  Plan plan(100, 1, {fits(100), fits(100)});
  plan.request.merge.tree = true;
  Ledger moving(plan.request);
  moving.assign(d0, {0, 100});
  CHECK(moving.move_tail(d0, d1, 30) ==
        20);  // from 80 = 5 * 16 on, at least two thirds of what is asked for
  CHECK(moving.issue_own(d0, 70) == MaybeSlice({0, 64}));
  CHECK(moving.move_tail(d0, d1, 16) == 16);
  CHECK(moving.owned(d0) == 0);
  Ledger all(plan.request);
  all.assign(d0, {70, 80});
  CHECK(all.move_tail(d0, d1, 10) == 10);  // all of it: no cut, though 72 would be more even

  plan.request.merge.tree = false;
  Ledger plain(plan.request);
  plain.assign(d0, {0, 100});
  CHECK(plain.move_tail(d0, d1, 30) == 30);  // and only there
  plan.request.merge.tree = true;

  Ledger whole(plan.request);
  CHECK(whole.issue_shared(d0, 100) == MaybeSlice({0, 100}));
  plan.request.items = 50;
  Ledger last(plan.request);
  CHECK(last.issue_shared(d0, 30) ==
        MaybeSlice(
            {0, 24}));  // nothing is known of its rate: what is even, and no more than asked for
}

TEST_CASE("no piece is more than its device takes, however even that would be") {
  Plan plan(50, 1, {fits(30)});
  plan.devices[0].items_per_s = 1e9;
  plan.request.devices = plan.devices;
  plan.request.merge.tree = true;
  plan.request.merge.per_slice = std::chrono::milliseconds(1);
  Ledger ledger(plan.request);
  CHECK(ledger.issue_shared(d0, 28) == MaybeSlice({0, 24}));  // not 32
}

TEST_CASE("what is even in a piece is weighed with what the piece behind it will need") {
  Plan plan(90, 1, {fits(90)});
  plan.devices[0].items_per_s = 1e9;
  plan.request.devices = plan.devices;
  plan.request.merge.tree = true;
  plan.request.merge.per_slice = std::chrono::milliseconds(1);
  Ledger ledger(plan.request);
  CHECK(ledger.issue_shared(d0, 45) ==
        MaybeSlice({0, 48}));  // 32 needs fewer nodes itself, but [32, 77) more than [48, 90)
}

TEST_CASE("the largest and the smallest of plans") {
  constexpr Items most = Items{1} << 62;
  CHECK(taking_part(Plan(5, 1, {fits(1), fits(0)}).request) == std::vector<bool>{true, false});
  CHECK(Ledger(Plan(most, most, {fits(most)}).request).able() == 1);
  CHECK(kind_of([] { Ledger none(Plan(1, most + 1, {fits(1)}).request); }) ==
        ErrorKind::unsupported);
  CHECK(kind_of([] { Ledger none(Plan(most + 1, 1, {fits(1)}).request); }) ==
        ErrorKind::unsupported);
  CHECK(kind_of([] { Ledger none(Plan(1, 1, {fits(0)}).request); }) == ErrorKind::unsupported);
  CHECK(Ledger(Plan(0, 1, {fits(0)}).request).nothing_now() == Answer(Done{}));
}

TEST_CASE(
    "a device in reserve may work only while no other can, and gives back what it was still to "
    "do") {
  Plan plan(100, 1, {fits(100), fits(100), fits(100)});
  plan.devices[1].reserve = plan.devices[2].reserve = true;
  plan.request.devices = plan.devices;
  CHECK(taking_part(plan.request) == std::vector<bool>{true, false, false});
  Ledger ledger(plan.request);
  CHECK(ledger.able() == 1);
  CHECK_FALSE(ledger.issue_shared(d1, 10));
  CHECK(ledger.issue_shared(d0, 10));
  ledger.rejected(d0, {0, 10}, 0);  // it can take nothing: their turn
  CHECK(ledger.able() == 2);
  ledger.assign(d1, {50, 100});
  CHECK(ledger.issue_own(d1, 10) == MaybeSlice({50, 60}));
  ledger.lost(d0, {});
  ledger.joined(d0);
  CHECK(ledger.able() == 1);
  CHECK(ledger.owned(d1) == 0);
  CHECK(ledger.shared() == 90);
  ledger.finished(d1, {50, 60});
  CHECK_FALSE(ledger.is_able(d2));
}

TEST_CASE("one in reserve gives back too when the only other one returns") {
  Plan plan(100, 1, {fits(100), fits(100)});
  plan.devices[1].reserve = true;
  plan.request.devices = plan.devices;
  Ledger ledger(plan.request);
  ledger.lost(d0, {});
  ledger.assign(d1, {50, 100});
  ledger.joined(d0);
  CHECK(ledger.owned(d1) == 0);
  CHECK(ledger.shared() == 100);
}
