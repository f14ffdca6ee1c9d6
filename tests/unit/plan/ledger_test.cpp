// The ledger and its interval set, step by step: tables list the calls and their results.
#include "lib/plan/ledger.hpp"

#include <doctest/doctest.h>

#include <sstream>

#include "lib/base/error.hpp"
#include "tests/support/pairs.hpp"

using namespace mgpu;

namespace {

using MaybeSlice = std::optional<Slice>;

struct LedgerPlan {
  // Makes a plan with the number of items that each device takes at once; a second vector has the
  // sizes of the pieces that they request.
  LedgerPlan(Items items, Items granularity, std::vector<Items> fits,
             std::vector<Items> pipelines = {})
      : devices(fits.size()) {
    for (std::size_t i = 0; i < fits.size(); ++i) {
      devices[i].fits = fits[i];
      if (i < pipelines.size()) devices[i].pipeline = pipelines[i];
    }
    request.items = items;
    request.granularity = granularity;
    request.devices = devices;
  }
  LedgerPlan& reserve(std::vector<std::size_t> which) {
    for (const std::size_t i : which) devices[i].reserve = true;
    return *this;
  }
  const PlanRequest& asked() {
    request.devices = devices;
    return request;
  }
  std::vector<DeviceEstimate> devices;
  PlanRequest request;
};

std::string words_for(const MaybeSlice& slice) {
  return slice ? std::to_string(slice->begin) + "-" + std::to_string(slice->end) : "none";
}

std::string words_for(const Answer& answer) {
  if (std::holds_alternative<Done>(answer)) return "done";
  if (const Slice* slice = std::get_if<Slice>(&answer)) return words_for(MaybeSlice(*slice));
  return std::get<Wait>(answer).likely_last ? "wait for the last" : "wait";
}

Slice read_slice(const std::string& text) {
  return {std::stoull(text), std::stoull(text.substr(text.find('-') + 1))};
}

// Executes one step: a function of Ledger and its arguments; devices are numbers, slices "0-10".
std::string tell(Ledger& ledger, const std::string& step) {
  std::istringstream in(step);
  std::string what, word;
  in >> what;
  std::vector<std::string> given;
  while (in >> word) given.push_back(word);
  const auto number = [&](std::size_t k) { return std::stoull(given.at(k)); };
  const auto device = [&](std::size_t k) {
    return DeviceIndex{static_cast<std::uint32_t>(number(k))};
  };
  const auto text = [](auto count) { return std::to_string(count); };
  if (what == "shared_piece") return words_for(ledger.issue_shared(device(0), number(1)));
  if (what == "own_piece") return words_for(ledger.issue_own(device(0), number(1)));
  if (what == "move_tail") return text(ledger.move_tail(device(0), device(1), number(2)));
  if (what == "next") return words_for(ledger.nothing_now());
  if (what == "holds_back") return ledger.holds_back(device(0), number(1)) ? "yes" : "no";
  if (what == "able" && given.empty()) return text(ledger.able());
  if (what == "able") return ledger.is_able(device(0)) ? "yes" : "no";
  if (what == "size") return text(ledger.size());
  if (what == "limit") return text(ledger.limit(device(0)));
  if (what == "piece") return text(ledger.piece(device(0)));
  if (what == "shared") return text(ledger.shared());
  if (what == "owned") return text(ledger.owned(device(0)));
  if (what == "in_flight") return text(ledger.in_flight(device(0)));
  if (what == "unfinished") return text(ledger.unfinished());
  if (what == "assign") ledger.assign(device(0), read_slice(given.at(1)));
  if (what == "finished") ledger.finished(device(0), read_slice(given.at(1)));
  if (what == "rejected") ledger.rejected(device(0), read_slice(given.at(1)), number(2));
  if (what == "joined") ledger.joined(device(0));
  if (what == "lost") {
    std::vector<Slice> slices;
    for (std::size_t k = 1; k < given.size(); ++k) slices.push_back(read_slice(given[k]));
    ledger.lost(device(0), slices);
  }
  return "well";
}

std::string told(Ledger& ledger, const std::string& step) {
  try {
    return tell(ledger, step);
  } catch (const Error& error) {
    return error.kind() == ErrorKind::internal      ? "internal"
           : error.kind() == ErrorKind::unsupported ? "unsupported"
                                                    : "another error";
  }
}

void check_ledger(LedgerPlan plan, const char* steps) {
  Ledger ledger(plan.asked());
  for (const auto& [step, answer] : test::pairs_of(steps)) {
    CAPTURE(step);
    CHECK(told(ledger, step) == answer);
  }
}

ErrorKind kind_of_plan(LedgerPlan plan) {
  try {
    Ledger ledger(plan.asked());
  } catch (const Error& error) {
    return error.kind();
  }
  FAIL("nothing was thrown");
  return ErrorKind::internal;
}

LedgerPlan with_tree(LedgerPlan plan, double rate = 0) {
  plan.request.merge.tree = true;
  if (rate > 0) plan.request.merge.per_slice = std::chrono::milliseconds(1);
  plan.devices[0].items_per_s = rate;
  return plan;
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
  for (const Slice not_all : {Slice{14, 16}, {0, 5}, {39, 41}}) CHECK_FALSE(set.remove(not_all));
  CHECK(set.total() == 25);
  CHECK(set.take_first(3) == MaybeSlice({10, 13}));
  CHECK(set.take_first(100) == MaybeSlice({13, 15}));
  CHECK_FALSE(set.take_first(0));
  CHECK(set.first() == MaybeSlice({20, 40}));
  for (const Slice twice : {Slice{25, 26}, {10, 21}, {39, 50}, {10, 50}, {20, 40}})
    CHECK_THROWS_AS(set.add(twice), Error);
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
  // 30 is 24 in granules; the minimum is one granule; the odd items go with the last.
  check_ledger({100, 8, {30, 1000, 7}, {0, 50, 0}}, R"(
    able = 2; piece 0 = 30; piece 1 = 50
    shared_piece 0 20 = 0-16; shared_piece 0 90 = 16-40; shared_piece 0 1 = 40-48
    shared_piece 2 8 = none; shared_piece 1 60 = 48-100; shared_piece 1 60 = none
    in_flight 0 = 48; unfinished = 100)");
  // A device too small for a granule can still take all items if they are fewer.
  CHECK(slice_limit(LedgerPlan(5, 8, {5}).request, 5) == 5);
  CHECK(slice_limit(LedgerPlan(5, 8, {5}).request, 4) == 0);
  CHECK(slice_limit(LedgerPlan(100, 8, {5}).request, 7) == 0);
  CHECK(slice_limit(LedgerPlan(100, 8, {5}).request, 1000) == 100);
}

TEST_CASE("work is done only when all of it is finished, and can be undone by a loss") {
  check_ledger({20, 1, {20, 20}}, R"(
    assign 0 0-10 = well; own_piece 0 10 = 0-10; shared_piece 1 10 = 10-20
    finished 0 0-10 = well; next = wait for the last; finished 1 10-20 = well; next = done
    lost 0 2-5 7-9 = well; unfinished = 5; next = wait
    shared_piece 0 10 = none; shared_piece 1 10 = 2-5; shared_piece 1 10 = 7-9
    finished 1 2-5 = well; finished 1 7-9 = well; next = done)");
}

TEST_CASE("a lost device gives back what it owned and what was in flight, named or not") {
  check_ledger({30, 1, {30, 30}}, R"(
    assign 0 0-30 = well; own_piece 0 10 = 0-10; own_piece 0 10 = 10-20; lost 0 0-10 = well
    shared = 30; able = 1; shared_piece 1 30 = 0-30)");
}

TEST_CASE("a rejected slice returns to where it came from, and smaller ones follow") {
  // Rejected sizes are not offered again, whatever the device reports; a device that takes nothing
  // more leaves everything to the others.
  check_ledger({32, 4, {32, 32}}, R"(
    assign 0 0-16 = well; own_piece 0 16 = 0-16; rejected 0 0-16 9 = well; owned 0 = 16
    own_piece 0 16 = 0-8; rejected 0 0-8 100 = well; own_piece 0 16 = 0-4; rejected 0 0-4 0 = well
    able = 1; owned 0 = 0; shared_piece 1 32 = 0-32)");
}

TEST_CASE("a device that comes back has its first limit, a newcomer the smallest of all") {
  check_ledger({100, 1, {60, 50, 0}, {20, 40, 0}}, R"(
    shared_piece 1 50 = 0-50; rejected 1 0-50 0 = well; lost 1 = well; joined 1 = well
    limit 1 = 50; joined 3 = well; size = 4; limit 3 = 50; piece 3 = 40; able = 3
    joined 5 = internal)");
}

TEST_CASE("work that nobody can take is an error, not an endless wait") {
  check_ledger({100, 1, {60, 50}}, R"(
    shared_piece 0 50 = 0-50; shared_piece 1 50 = 50-100; lost 1 = well; next = wait
    rejected 0 0-50 0 = well; next = unsupported
    joined 1 = well; in_flight 1 = 0; next = wait)");
  CHECK(kind_of_plan({100, 8, {7, 0}}) == ErrorKind::unsupported);
}

TEST_CASE("a device with a slice in flight holds back when the others can take the rest") {
  // With nothing in flight it never holds back. Three pieces for two others; two for two; two for
  // one.
  check_ledger({40, 1, {40, 40, 40}}, R"(
    holds_back 0 10 = no; shared_piece 0 10 = 0-10; holds_back 0 10 = no
    shared_piece 1 10 = 10-20; holds_back 0 10 = yes; holds_back 2 10 = no
    lost 2 = well; holds_back 0 10 = no)");
}

TEST_CASE("events about slices that are not there are the caller's mistake") {
  check_ledger({40, 1, {40, 40}}, R"(
    shared_piece 0 10 = 0-10; finished 1 0-10 = internal; finished 0 0-9 = internal
    rejected 0 10-20 1 = internal; lost 1 0-10 = internal; assign 1 5-15 = internal
    limit 2 = internal)");
  CHECK(kind_of_plan({1, 0, {1}}) == ErrorKind::internal);
  CHECK(kind_of_plan({1, 1, {}}) == ErrorKind::internal);
}

TEST_CASE("unissued work moves from the tail of one device to another, in whole granules") {
  // Moves the odd end of the range first, and one granule.
  check_ledger({70, 8, {70, 70}}, R"(
    assign 0 0-70 = well; own_piece 0 16 = 0-16; move_tail 0 1 20 = 14; own_piece 1 70 = 56-70
    move_tail 0 1 7 = 0; move_tail 0 1 100 = 40; owned 0 = 0; move_tail 0 1 100 = 0)");
}

TEST_CASE("where parts are nodes of a tree, pieces end where few nodes cover them") {
  const LedgerPlan plan(100, 1, {100, 100});
  // From 80 = 5 * 16 upwards, it moves at least two thirds of the request.
  check_ledger(with_tree(plan), R"(
    assign 0 0-100 = well; move_tail 0 1 30 = 20; own_piece 0 70 = 0-64
    move_tail 0 1 16 = 16; owned 0 = 0)");
  // It moves everything without a cut, although 72 would be more even.
  check_ledger(with_tree(plan), "assign 0 70-80 = well; move_tail 0 1 10 = 10");
  check_ledger(with_tree(plan), "shared_piece 0 100 = 0-100");
  check_ledger(plan, "assign 0 0-100 = well; move_tail 0 1 30 = 30");
  // Its rate is unknown: the cut is even, and no more than requested.
  check_ledger(with_tree({50, 1, {100, 100}}), "shared_piece 0 30 = 0-24");
  // No piece is larger than its device takes, however even that would be: not 32.
  check_ledger(with_tree({50, 1, {30}}, 1e9), "shared_piece 0 28 = 0-24");
  // 32 needs fewer nodes itself, but [32, 77) more than [48, 90).
  check_ledger(with_tree({90, 1, {90}}, 1e9), "shared_piece 0 45 = 0-48");
}

TEST_CASE("the largest and the smallest of plans") {
  constexpr Items most = Items{1} << 62;
  CHECK(taking_part(LedgerPlan(5, 1, {1, 0}).asked()) == std::vector<bool>{true, false});
  check_ledger({most, most, {most}}, "able = 1");
  check_ledger({0, 1, {0}}, "next = done");
  CHECK(kind_of_plan({1, most + 1, {1}}) == ErrorKind::unsupported);
  CHECK(kind_of_plan({most + 1, 1, {1}}) == ErrorKind::unsupported);
  CHECK(kind_of_plan({1, 1, {0}}) == ErrorKind::unsupported);
}

TEST_CASE("a device in reserve works only while no other can, and gives back the rest") {
  const LedgerPlan plan = LedgerPlan(100, 1, {100, 100, 100}).reserve({1, 2});
  CHECK(taking_part(LedgerPlan(plan).asked()) == std::vector<bool>{true, false, false});
  check_ledger(plan, R"(
    able = 1; shared_piece 1 10 = none; shared_piece 0 10 = 0-10; rejected 0 0-10 0 = well
    able = 2; assign 1 50-100 = well; own_piece 1 10 = 50-60
    lost 0 = well; joined 0 = well; able = 1; owned 1 = 0; shared = 90
    finished 1 50-60 = well; able 2 = no)");
  // This also holds if the only other device returns.
  check_ledger(LedgerPlan(100, 1, {100, 100}).reserve({1}), R"(
    lost 0 = well; assign 1 50-100 = well; joined 0 = well; owned 1 = 0; shared = 100)");
}
