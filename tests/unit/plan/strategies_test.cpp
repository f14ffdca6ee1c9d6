// Each strategy by worked examples. tests/property tests their common properties over random cases.
#include <doctest/doctest.h>

#include "lib/base/error.hpp"
#include "tests/support/plan_problem.hpp"

using namespace mgpu;
using mgpu::test::Driven;
using mgpu::test::Problem;

namespace {

using Shares = std::vector<Items>;

ErrorKind refusal(Problem problem, std::string_view strategy) {
  try {
    problem.begin(strategy);
  } catch (const Error& error) {
    return error.kind();
  }
  return ErrorKind::internal;
}

}  // namespace

TEST_CASE("modes have the names that files use") {
  CHECK(to_string(Mode::resident) == "resident");
  CHECK(to_string(Mode::end_to_end) == "end_to_end");
  CHECK(words_of(Mode::end_to_end) == "end to end");
  CHECK(option_value(Mode::end_to_end) == "end-to-end");
}

TEST_CASE("a mode of a suite's own is known by its name") {
  CHECK_FALSE(mode_named("resident").transfers());
  CHECK(mode_named("end_to_end") == Mode::end_to_end);
  CHECK_FALSE(mode_named("end_to_end").outputs_resident);
  const Mode own = mode_named(std::string("weights_stay"));
  CHECK(own.name == "weights_stay");
  CHECK(own.transfers());
  CHECK(own == Mode{"weights_stay", false, true});
  CHECK_FALSE(own == Mode::end_to_end);
  for (const char* text : {"", "End", "end-to-end", "a b", "a\n"})
    CHECK_THROWS_AS(mode_named(text), Error);
}

TEST_CASE("single, equal and proportional share as computed by hand") {
  test::check_driven_shares(R"(
    single takes the fastest device, else the best score, else the first; one that fits
      single 3 100 rate.0=2 rate.1=5 rate.2=5 = 0 100 0
      single 3 100 rate=0 score=0 = 100 0 0
      single 3 100 rate=0 score.0=0 score.1=80 score.2=80 = 0 100 0
      single 3 100 rate=0 rate.2=1 score.0=0 score.1=80 score.2=80 = 0 0 100
      single 3 100 rate=0 rate.2=1 score.0=0 score.1=80 score.2=80 fits.2=0 = 0 100 0
    equal is balanced: a split of what is left by 1/n each time would give the last of three 44 %
      equal 3 9000 rate.1=2 rate.2=3 = 3000 3000 3000
      equal 8 80001 = 10001 10000 10000 10000 10000 10000 10000 10000
      equal 4 3 = 1 1 1 0
      dynamic 4 3 = 1 1 1 0
      equal 4 900 granularity=10 fits.1=9 = 300 0 300 300
    proportional goes by scores, and is equal without
      proportional 2 10000 score.0=95 score.1=80 = 5429 4571
      proportional 2 10000 score=0 = 5000 5000)");
}

TEST_CASE("a static share is one range in even pieces of at most pipeline and a small remainder") {
  Problem problem(1000, {1, 1}, 10);
  problem.devices[0].pipeline = 170;
  problem.devices[1].pipeline = 500;
  const Driven result = problem.run("equal");
  CHECK(result.slices[0] == std::vector<Slice>{{0, 170}, {170, 340}, {340, 500}});
  CHECK(result.slices[1] == std::vector<Slice>{{500, 1000}});
  problem.devices[0].pipeline = 400;  // not 400 and 100
  CHECK(problem.run("equal").slices[0] == std::vector<Slice>{{0, 250}, {250, 500}});
  problem.devices[0].pipeline = 470;
  CHECK(problem.run("equal").slices[0] == std::vector<Slice>{{0, 250}, {250, 500}});
  problem.devices[0].pipeline = 480;  // a small excess does not make a piece of its own
  CHECK(problem.run("equal").slices[0] == std::vector<Slice>{{0, 500}});
  problem.devices[0].fits = problem.devices[0].pipeline = 480;  // a limit of memory does
  CHECK(problem.run("equal").slices[0] == std::vector<Slice>{{0, 250}, {250, 500}});

  Problem shorter(980, {1, 1}, 10);
  shorter.devices[0].pipeline = 160;  // nor after several pieces
  CHECK(shorter.run("equal").slices[0] == std::vector<Slice>{{0, 170}, {170, 330}, {330, 490}});
}

TEST_CASE("a share that is a small remainder above pipeline is one slice, whoever cut it") {
  Problem problem(2'000'000, {1.003e6, 1e6}, 1);  // 1 001 498 and 998 502
  for (DeviceEstimate& device : problem.devices) {
    device.pipeline = 1'000'000;
    // The launches take 0.3 s of 1 s: no more slices than necessary.
    device.launch = std::chrono::milliseconds(300);
  }
  for (const char* strategy : {"capability", "latency", "stealing", "adaptive", "guided"}) {
    CAPTURE(strategy);
    const Driven result = problem.run(strategy);
    CHECK(result.slices[0].size() == 1);
    CHECK(result.slices[1].size() == 1);
  }
}

TEST_CASE("work larger than memory runs in waves of what fits") {
  Problem problem(1003, {1, 1}, 10);
  problem.devices[0].fits = problem.devices[1].fits = 105;
  for (const char* strategy : {"single", "equal", "proportional", "dynamic"}) {
    CAPTURE(strategy);
    for (const auto& slices : problem.run(strategy).slices) {
      for (const Slice& slice : slices) CHECK(slice.size() <= 105);
    }
  }
}

TEST_CASE("when no device can take a granule the plan is refused") {
  Problem problem(900, {1, 1}, 10);
  problem.devices[0].fits = problem.devices[1].fits = 9;
  for (const StrategyInfo& info : all_strategies()) {
    CAPTURE(info.name);
    CHECK(refusal(problem, info.name) == ErrorKind::unsupported);
    Problem able = problem;  // all but one device
    able.devices[0].fits = able.devices[0].pipeline = 900;
    CHECK(able.run(info.name).items == Shares{900, 0});
  }
}

TEST_CASE("nothing to do is done at once, also where nothing would fit") {
  for (const StrategyInfo& info : all_strategies()) {
    CAPTURE(info.name);
    Problem problem(0, {1, 1}, 10);
    CHECK(problem.begin(info.name)->next({0}) == Answer(Done{}));
  }
}

TEST_CASE("one device, and fewer granules than devices, are no special cases") {
  for (const StrategyInfo& info : all_strategies()) {
    CAPTURE(info.name);
    CHECK(Problem(777, {3}, 10).run(info.name).items == Shares{777});
    const Driven few = Problem(25, {1, 1, 1, 1, 1, 1, 1, 1}, 10).run(info.name);
    CHECK(std::count(few.items.begin(), few.items.end(), Items{0}) >= 5);
  }
}

TEST_CASE("what a lost device leaves is shared by all survivors of a static plan") {
  Problem problem(4000, {1, 1, 1, 1});
  const auto source = problem.begin("equal");
  for (std::uint32_t i = 0; i < 4; ++i)
    CHECK(source->next({i}) == Answer(Slice{i * 1000, i * 1000 + 1000}));
  source->lost({3}, std::vector<Slice>{{3000, 4000}});
  source->finished({0}, {0, 1000}, Nanos{1});
  source->finished({1}, {1000, 2000}, Nanos{1});
  Shares helped(3, 0);
  Items left = 1000;
  for (std::uint32_t turn = 0; left > 0; ++turn) {
    REQUIRE(turn < 1000);
    const DeviceIndex device{turn % 3};
    const Answer answer = source->next(device);
    if (const Slice* slice = std::get_if<Slice>(&answer)) {
      left -= slice->size();
      helped[device.value] += slice->size();
      source->finished(device, *slice, Nanos{1});
    }
  }
  for (const Items items : helped) CHECK(std::abs(static_cast<double>(items) - 1000.0 / 3) < 50);
  CHECK(source->next({0}) ==
        Answer(Wait{true}));  // the third device's first slice may still be lost
  source->finished({2}, {2000, 3000}, Nanos{1});
  CHECK(source->next({0}) == Answer(Done{}));
}

TEST_CASE("when the last device is lost, one that steps in does the rest") {
  for (const StrategyInfo& info : all_strategies()) {
    CAPTURE(info.name);
    Problem problem(100, {1});
    const auto source = problem.begin(info.name);
    CHECK(std::holds_alternative<Slice>(source->next({0})));
    source->lost({0}, {});
    CHECK_THROWS_AS(source->next({0}), Error);
    source->joined({1});
    Items done = 0;
    for (Answer answer = source->next({1}); !std::holds_alternative<Done>(answer);
         answer = source->next({1})) {
      const Slice slice = std::get<Slice>(answer);
      done += slice.size();
      source->finished({1}, slice, Nanos{1});
    }
    CHECK(done == 100);
  }
}

TEST_CASE("dynamic cuts the work into chunks all alike") {
  const auto sizes = [](Problem problem, double chunks) {
    Shares all;
    const Driven result = problem.run("dynamic", {{"chunks", chunks}});
    for (const auto& slices : result.slices) {
      for (const Slice& slice : slices) all.push_back(slice.size());
    }
    return all;
  };
  CHECK(sizes(Problem(3200, {1, 1}), 16) == Shares(32, 100));
  const Shares uneven = sizes(Problem(1000, {1, 1}), 4);
  CHECK(uneven == Shares(8, 125));
  const Shares odd =
      sizes(Problem(100, {1, 1}), 16);  // 3.125 items per chunk, without a remainder of one
  CHECK(*std::min_element(odd.begin(), odd.end()) >= 2);
  CHECK(*std::max_element(odd.begin(), odd.end()) <= 4);
  CHECK(sizes(Problem(5, {1, 1}), 4096) == Shares(5, 1));
}

TEST_CASE("dynamic follows the devices' speeds") {
  const Driven result = Problem(40'000, {3, 1}).run("dynamic");
  CHECK(result.items[0] == doctest::Approx(30'000).epsilon(0.05));
}

TEST_CASE("at depth two the slow device of a pair does not hoard the last chunks") {
  // 16 chunks, rates 3:1: the ideal takes 4 chunk times of the slow device; hoarding would take 5.
  for (const double known : {1.0, 0.0}) {
    CAPTURE(known);
    Problem problem(1600, {3, 1});
    for (DeviceEstimate& e : problem.devices) e.items_per_s *= known;
    CHECK(problem.run("dynamic", {{"chunks", 8}}).makespan <= 400 * 1.09);
  }
  // The second device is ten times slower, and this is known: taking one chunk at a time from the
  // beginning ends at 200; counting only chunks would end at 300.
  CHECK(Problem(1600, {10, 1}).run("dynamic", {{"chunks", 8}}).makespan <= 201);
}

TEST_CASE("dynamic keeps two slices in flight on equal devices until near the end") {
  Problem problem(3200, {1, 1});
  const auto source = problem.begin("dynamic");
  std::vector<std::deque<Slice>> flights(2);
  Items given = 0;
  for (std::uint32_t turn = 0; given < 3200 - 300; ++turn) {  // all but the last three chunks
    const std::uint32_t i = turn % 2;
    if (flights[i].size() == 2) {
      source->finished({i}, flights[i].front(), std::chrono::seconds{100});
      flights[i].pop_front();
    }
    while (flights[i].size() < 2 && given < 3200 - 300) {
      const Answer answer = source->next({i});
      REQUIRE(std::holds_alternative<Slice>(answer));
      flights[i].push_back(std::get<Slice>(answer));
      given += flights[i].back().size();
    }
  }
}
