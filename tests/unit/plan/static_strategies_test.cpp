// capability, memory, sequential and latency by worked examples.
#include <doctest/doctest.h>

#include <numeric>
#include <random>

#include "lib/plan/completion.hpp"
#include "lib/plan/cost_model.hpp"
#include "lib/plan/simulator.hpp"
#include "tests/support/plan_problem.hpp"

using namespace mgpu;
using mgpu::test::Driven;
using mgpu::test::Problem;

namespace {

using Shares = std::vector<Items>;
using namespace std::chrono_literals;

CompletionPlan completion(Problem& problem) {
  problem.request.devices = problem.devices;
  return least_completion(problem.request, estimated_speeds(problem.request).rates);
}

// Eight H200s behind one host link that carries 170 GB/s up: 64 bytes an item, 1 ns of compute.
Problem eight_on_one_link() {
  Problem problem(Items{1} << 26, std::vector<double>(8, 1e9), 1024);
  problem.request.mode = Mode::end_to_end;
  problem.request.cost.in_bytes = 64;
  problem.request.link_up = 170e9;
  for (DeviceEstimate& e : problem.devices) {
    e.up = 55e9;
    e.pipeline = Items{1} << 22;
    e.fixed = 60us;
    e.launch = 20us;
    e.transfer = 10us;
  }
  return problem;
}

Shares shares_of(Problem& problem, std::string_view strategy, StrategyParams params = {}) {
  return problem.run(strategy, std::move(params)).items;
}

}  // namespace

TEST_CASE("capability follows the pipelined rate, and the score where no rate is known") {
  Problem problem(10'000, {95, 80});
  CHECK(shares_of(problem, "capability") == Shares{5429, 4571});
  problem.request.mode = Mode::end_to_end;
  problem.request.cost.in_bytes = 10;
  problem.devices[0].up = 400;  // 40 items/s
  CHECK(shares_of(problem, "capability") == Shares{3333, 6667});
  for (DeviceEstimate& e : problem.devices) e.items_per_s = 0;
  problem.devices[0].score = 95;
  problem.devices[1].score = 80;
  CHECK(shares_of(problem, "capability") == Shares{5429, 4571});
}

TEST_CASE("memory shares by free memory, and never above what fits") {
  Problem problem(900, {1, 1, 1}, 10);
  for (const auto& [device, free] : {std::pair{0, 100}, {1, 200}, {2, 600}})
    problem.devices[device].free_memory = free;
  CHECK(shares_of(problem, "memory") == Shares{100, 200, 600});
  problem.devices[2].fits = 450;  // what it cannot take goes to the others, by their memory
  CHECK(shares_of(problem, "memory") == Shares{150, 300, 450});
  problem.devices[1].free_memory = 0;  // not known of all: by what each holds
  problem.devices[0].fits = problem.devices[1].fits = 450;
  CHECK(shares_of(problem, "memory") == Shares{300, 300, 300});
}

TEST_CASE("memory counts inputs and outputs of an item") {
  Problem problem(900, {1, 1});
  problem.request.cost = {3, 1, 0, 0};
  problem.devices[0].free_memory = 400;  // 100 items
  problem.devices[1].free_memory = 4000;
  CHECK(shares_of(problem, "memory") == Shares{82, 818});
  problem.devices[1].free_memory = 3200;  // 800 items: both are full
  CHECK(shares_of(problem, "memory") == Shares{100, 800});
}

TEST_CASE("work larger than all devices together goes round in waves of what each holds") {
  Problem problem(2050, {1, 1, 1}, 10);
  problem.devices[0].fits = 200;
  problem.devices[1].fits = 100;
  problem.devices[2].fits = 100;
  for (DeviceEstimate& e : problem.devices) e.free_memory = 1000;
  // Five full waves of 200, 100 and 100; the last 50 by memory, which is alike.
  CHECK(shares_of(problem, "memory") == Shares{1020, 520, 510});
  // Fills the first before the second also in the last wave.
  CHECK(shares_of(problem, "sequential") == Shares{1050, 500, 500});
  const Driven result = problem.run("memory");
  for (std::size_t i = 0; i < 3; ++i) {
    for (const Slice& slice : result.slices[i]) CHECK(slice.size() <= problem.devices[i].fits);
  }
}

TEST_CASE("the odd items end the range, whatever the waves") {
  Problem problem(253, {1, 1}, 10);
  problem.devices[0].fits = problem.devices[1].fits = 100;
  CHECK(shares_of(problem, "sequential") == Shares{160, 93});
  CHECK(shares_of(problem, "memory") == Shares{130, 123});
}

TEST_CASE("sequential fills one device before it uses the next") {
  Problem problem(1000, {1, 9, 9}, 10);
  CHECK(shares_of(problem, "sequential") == Shares{1000, 0, 0});
  problem.devices[0].fits = 405;
  CHECK(shares_of(problem, "sequential") == Shares{400, 600, 0});
  problem.request.cost.in_bytes = 8;
  problem.devices[0].free_memory = 2400;  // 300 items, fewer than fit
  CHECK(shares_of(problem, "sequential") == Shares{300, 700, 0});
  problem.devices[0].free_memory = 0;
  CHECK(shares_of(problem, "sequential", {{"fill", 0.5}}) == Shares{200, 500, 300});
}

TEST_CASE("latency leaves out the device whose fixed time is beyond the end") {
  // T = 7.6667 s: 1 + 0.01 w = 1 + 0.02 (1000 - w).
  Problem problem(1000, {100, 50, 20});
  problem.devices[0].fixed = problem.devices[1].fixed = 1s;
  problem.devices[2].fixed = 50s;
  CHECK(completion(problem).seconds == doctest::Approx(7.6667).epsilon(1e-5));
  CHECK(shares_of(problem, "latency") == Shares{667, 333, 0});
  problem.devices[2].fixed = 1s;
  CHECK(shares_of(problem, "latency") == Shares{588, 294, 118});
}

TEST_CASE("latency uses one device where work is too little for two") {
  Problem problem(100, {100, 100});
  problem.request.merge.per_slice =
      200ms;  // two of them are less than the half second a second device saves
  CHECK(shares_of(problem, "latency") == Shares{50, 50});
  problem.request.merge.per_slice = 300ms;
  CHECK(shares_of(problem, "latency") == Shares{100, 0});
}

TEST_CASE("latency uses as many devices as the host link feeds") {
  Problem problem = eight_on_one_link();
  const CompletionPlan plan = completion(problem);
  const auto used =
      std::count_if(plan.items.begin(), plan.items.end(), [](double items) { return items > 0; });
  CHECK(used == 4);  // 170 GB/s feed 3.1 of 55 GB/s
  // 4 GiB over the link, and little beyond.
  CHECK(plan.seconds >= 64.0 * static_cast<double>(problem.request.items) / 170e9);
  CHECK(plan.seconds <= 64.0 * static_cast<double>(problem.request.items) / 170e9 * 1.04);
  for (DeviceEstimate& e : problem.devices)
    e.up = 15e9;  // links of their own are the narrow place: all of them
  const CompletionPlan narrow = completion(problem);
  CHECK(std::count(narrow.items.begin(), narrow.items.end(), 0.0) == 0);
  problem.request.mode = Mode::resident;
  const CompletionPlan resident = completion(problem);
  CHECK(std::count(resident.items.begin(), resident.items.end(), 0.0) == 0);
}

TEST_CASE("latency leaves no device out where fewer carry less") {
  Problem problem = eight_on_one_link();
  problem.devices.resize(4);
  problem.request.link_up = 155e9;
  const auto used = [&] {
    const CompletionPlan plan = completion(problem);
    return std::count_if(plan.items.begin(), plan.items.end(),
                         [](double items) { return items > 0; });
  };
  CHECK(used() == 3);  // as if three of them could have all of it
  problem.request.link_up = LinkRate({102e9, 102e9, 132e9, 155e9});
  CHECK(used() == 4);
  problem.request.link_up = LinkRate({100e9, 100e9, 100e9, 99e9});
  CHECK(used() == 2);
}

TEST_CASE("latency leaves devices out whose threads cost the others more than they do") {
  Problem problem(1000, std::vector<double>(4, 1e6), 1000);  // 1 ms in all
  problem.request.merge.per_slice = 1us;                     // or there would be no doubt
  for (DeviceEstimate& e : problem.devices) e.fixed = 900us;
  const auto used = [&] {
    const CompletionPlan plan = completion(problem);
    return std::count_if(plan.items.begin(), plan.items.end(),
                         [](double items) { return items > 0; });
  };
  CHECK(used() == 4);  // 1.15 ms
  for (DeviceEstimate& e : problem.devices) e.per_peer_contention = 290us;
  CHECK(used() == 2);  // 0.5 ms and 0.32; of three 0.33 and 0.61
}

TEST_CASE("latency gives a device on a slow link of its own less, and prefers the others") {
  Problem problem = eight_on_one_link();
  problem.request.link_up = 0;
  problem.devices[3].up = 5.5e9;
  const CompletionPlan plan = completion(problem);
  CHECK(plan.items[3] > 0);
  CHECK(plan.items[3] == doctest::Approx(plan.items[0] / 10).epsilon(0.05));
  problem.request.link_up = 170e9;
  CHECK(completion(problem).items[3] == 0);
}

TEST_CASE(
    "latency cuts pieces so that transfers overlap, no smaller than their overhead pays for") {
  Problem problem(1 << 20, {1e6}, 64);  // 1 s of upload, of compute and of download
  problem.request.mode = Mode::end_to_end;
  problem.request.cost = {1, 1, 0, 0};
  problem.devices[0].up = problem.devices[0].down = 1e6;
  problem.devices[0].transfer = problem.devices[0].launch = 1ms;
  // One piece takes 3 W; s pieces 1.5 W + 1.5 W / s + 1.5 ms s, least for s = sqrt(W / 1 ms) = 32.
  const CompletionPlan plan = completion(problem);
  CHECK(plan.pieces[0] == 32);
  CHECK(plan.seconds ==
        doctest::Approx(1.5 * 1.048576 * (1 + 1.0 / 32) + 33 * 1.5e-3).epsilon(1e-3));
  CHECK(problem.run("latency").slices[0].size() == 32);
  problem.devices[0].pipeline = 1 << 13;  // never more than the workload wants at once
  CHECK(problem.run("latency").slices[0].size() == 128);
}

TEST_CASE("latency cuts no pieces that a device is not busy with") {
  Problem problem(64, {1000}, 1);
  problem.request.mode = Mode::end_to_end;
  problem.request.cost = {1, 1, 0, 0};
  problem.devices[0].up = problem.devices[0].down = 1000;
  problem.devices[0].launch = 10us;
  CHECK(completion(problem).pieces[0] > 16);
  problem.devices[0].minimum_slice = 4ms + 10us;  // as long as 4 items take
  CHECK(completion(problem).pieces[0] == 16);
}

TEST_CASE("latency cuts a share that was moved for the merge as that share asks for") {
  Problem problem(1024, {1010, 1000}, 1);  // shares of 514.5 and 509.5, moved to halves
  problem.request.mode = Mode::end_to_end;
  problem.request.cost.in_bytes = 1;
  problem.request.merge = {Nanos{}, 10ms, true};
  for (DeviceEstimate& device : problem.devices) {
    device.up = 1e6;
    device.minimum_slice = 300ms;  // smaller pieces leave it idle
    device.pipeline = 249;
  }
  CHECK(completion(problem).pieces[0] == 3);
  CHECK(shares_of(problem, "latency") == Shares{512, 512});
  CHECK(problem.run("latency").slices[0].size() == 2);
  CHECK(problem.run("latency").slices[1].size() == 2);
}

TEST_CASE("latency comes to an end where a device asks for exactly its part of the link") {
  // A third of 10 GB/s is rounded up once and down once: the search for the fair part went to and
  // fro for ever.
  Problem problem(1'000'000, {2.7e9, 1.5e9, 1e9});
  problem.request.mode = Mode::end_to_end;
  problem.request.cost = {6, 4, 1, 0};
  problem.request.link_down = 1e10;
  problem.devices[0].up = problem.devices[1].up = 1e10;
  problem.devices[2].up = 5e9;
  const Driven result = problem.run("latency");
  CHECK(std::accumulate(result.items.begin(), result.items.end(), Items{0}) == 1'000'000);
}

TEST_CASE("the search for the number of devices ends whatever the merge is said to take") {
  // A result file once said that merging saves time: the best of all was then worse than one
  // hundredth above the best.
  Problem problem(1000, {100, 100, 100, 100});
  problem.request.merge.per_slice = -3s;
  CHECK(completion(problem).items.size() == 4);
}

TEST_CASE(
    "the closed form for shares says what a simulation does, and hardly less where a link is "
    "full") {
  std::mt19937_64 random(11);
  const auto between = [&](double least, double most) {
    return std::uniform_real_distribution<double>(least, most)(random);
  };
  const auto error = [&](const std::string& strategy, std::size_t count, double link_up) {
    std::vector<double> rates(count);
    for (double& rate : rates) rate = between(1e9, 3e9);
    Problem problem(static_cast<Items>(static_cast<double>(count) * between(1e5, 5e7)), rates,
                    1024);
    for (DeviceEstimate& device : problem.devices) {
      device.fixed = 60us;
      device.launch = 20us;
      device.minimum_slice = Nanos(static_cast<std::int64_t>(between(0, 60'000)));
      device.transfer = 10us;
      device.up = device.down = 55e9;
      device.pipeline = Items{1} << 22;
      device.free_memory = Bytes{1} << 37;
    }
    if (link_up > 0) {
      problem.request.mode = Mode::end_to_end;
      problem.request.cost.in_bytes = 32;
      problem.request.link_up = link_up * static_cast<double>(count);
    }
    problem.request.merge.per_slice = Nanos(100);
    const auto source = problem.begin(strategy);
    const auto shares = source->first_shares();
    const double simulated = seconds(simulate(problem.request, *source).makespan);
    return seconds_of_shares(problem.request, estimated_speeds(problem.request).rates, shares) /
               simulated -
           1;
  };
  for (const char* strategy : {"equal", "capability", "sequential", "memory"}) {
    for (const std::size_t count : {1, 3, 16, 100}) {
      CAPTURE(std::string(strategy));
      CAPTURE(count);
      CHECK(std::abs(error(strategy, count, 0)) < 0.001);
      CHECK(std::abs(error(strategy, count, 100e9)) < 0.001);
      const double full = error(strategy, count, 20e9);
      CHECK(full > -0.02);
      CHECK(full < 0.3);
    }
  }
}

TEST_CASE("without a known rate latency shares as capability does") {
  Problem problem(10'000, {1, 1});
  problem.devices[0].items_per_s = problem.devices[1].items_per_s = 0;
  problem.devices[0].score = 95;
  problem.devices[1].score = 80;
  CHECK(shares_of(problem, "latency") == Shares{5429, 4571});
}

TEST_CASE("a device in reserve works only when no other is left") {
  for (const StrategyInfo& info : all_strategies()) {
    CAPTURE(info.name);
    Problem problem(100, {1, 1});
    problem.devices[0].reserve = true;
    CHECK(problem.run(info.name).items == Shares{0, 100});
    const auto source = problem.begin(info.name);
    const Answer first = source->next({1});
    REQUIRE(std::holds_alternative<Slice>(first));
    CHECK(std::holds_alternative<Wait>(source->next({0})));
    source->lost({1}, {});
    const Answer answer = source->next({0});
    REQUIRE(std::holds_alternative<Slice>(answer));
    source->joined({1});  // from now on it is in reserve again
    source->finished({0}, std::get<Slice>(answer), 1s);
    CHECK_FALSE(std::holds_alternative<Slice>(source->next({0})));
  }
}
