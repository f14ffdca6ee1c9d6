// Strategies that decide at run time, on devices that are equal, unequal or slowing down; and what
// `adaptive` learns between samples.
#include <doctest/doctest.h>

#include "lib/plan/learned_shares.hpp"
#include "lib/plan/simulator.hpp"
#include "tests/support/plan_problem.hpp"

using namespace mgpu;
using mgpu::test::Driven;
using mgpu::test::Problem;

namespace {

using namespace std::chrono_literals;
using Shares = std::vector<Items>;

std::size_t slices_of(const Driven& result) {
  std::size_t all = 0;
  for (const auto& slices : result.slices) all += slices.size();
  return all;
}

Shares sizes_in_order(const Driven& result) {
  std::vector<Slice> all;
  for (const auto& slices : result.slices) all.insert(all.end(), slices.begin(), slices.end());
  std::sort(all.begin(), all.end());
  Shares sizes;
  for (const Slice& slice : all) sizes.push_back(slice.size());
  return sizes;
}

constexpr const char* kGoing[] = {"dynamic", "guided", "stealing", "adaptive"};

SampleShare sample(Shares items, std::vector<double> rates, double slower = 1) {
  SampleShare share{items, {}, {}};
  for (std::size_t i = 0; i < items.size(); ++i) {
    share.busy.push_back(from_seconds(static_cast<double>(items[i]) / rates[i]));
    share.makespan = std::max(share.makespan, from_seconds(slower * seconds(share.busy[i])));
  }
  return share;
}

// Returns the shares with which `adaptive` would start the next sample.
Shares next_shares(const Problem& problem, const History& history) {
  PlanRequest request = problem.request;
  request.devices = problem.devices;
  const auto learned =
      learned_shares(request, history, std::vector<double>(problem.devices.size(), 1));
  REQUIRE(learned);
  Shares shares;
  double all = 0;
  for (const double weight : *learned) all += weight;
  for (const double weight : *learned)
    shares.push_back(
        static_cast<Items>(std::round(weight / all * static_cast<double>(request.items))));
  return shares;
}

}  // namespace

TEST_CASE("on equal devices no strategy is more than 3 % behind equal") {
  for (const std::size_t n : {2, 3, 4, 8}) {
    Problem problem(1'000'000, std::vector<double>(n, 1e6 / 50e-3), 64);  // 50 ms each
    problem.launch(100us);
    const double equal = problem.run("equal").makespan;
    for (const StrategyInfo& info : all_strategies()) {
      if (info.name == "single" || info.name == "sequential") continue;
      CAPTURE(n);
      CAPTURE(info.name);
      CHECK(problem.run(info.name).makespan <= 1.03 * equal);
    }
    for (double variant = 0; variant < 4; ++variant) {
      CAPTURE(variant);
      CHECK(problem.run("guided", {{"variant", variant}}).makespan <= 1.03 * equal);
    }
  }
}

TEST_CASE("on unequal devices they reach most of what is possible") {
  struct Known {
    std::vector<double> rates;  // estimated rates
    double slow;                // the second device is really slower by this factor
    Items items, granularity;
    std::chrono::microseconds launch, second_launch;
    std::vector<const char*> strategies;
    double share;  // lower bound of the ideal's share
  };
  const std::vector<const char*> queued{"stealing", "adaptive"},
      known_rates{"capability", "latency", "dynamic", "guided", "stealing", "adaptive"},
      going(std::begin(kGoing), std::end(kGoing));
  std::vector<Known> all = {
      // One of a pair is three times slower, and this is known.
      {{20e6, 20e6 / 3}, 1, 1'000'000, 64, 20us, 20us, known_rates, 0.95},
      // One turns out three times slower. By then HGuided has assigned half of each share.
      {{2e6, 2e6}, 3, 1'000'000, 8, 20us, 20us, {"dynamic", "stealing", "adaptive"}, 0.95},
      {{2e6, 2e6}, 3, 1'000'000, 8, 20us, 20us, {"guided"}, 0.65},
      // GPUs on trees of 2^29 leaves, one of them three times slower, with equally expensive
      // launches.
      {{16610, 5540}, 1, 1024, 1, 142us, 400us, queued, 0.955},
      {{16610, 5540, 16610, 16610}, 1, 1024, 1, 142us, 400us, queued, 0.945}};
  // A launch on a slow device costs the run little: its pieces are small enough.
  for (const double slow : {0.85, 0.92, 1.0, 1.08, 1.15})  // relative to the estimate
    all.push_back({{31000, 11000}, slow, 4096, 1, 50us, 500us, going, 0.93});
  for (const Known& known : all) {
    Problem problem(known.items, known.rates, known.granularity);
    problem.launch(known.launch);
    problem.devices[1].launch = known.second_launch;
    problem.real[1].launch = seconds(known.second_launch);
    problem.real[1].slow = known.slow;
    problem.real[1].slow_at = 0;
    for (const std::string strategy : known.strategies) {
      CAPTURE(strategy);
      CAPTURE(known.slow);
      const Driven result = problem.run(strategy);
      CHECK(problem.ideal() / result.makespan >= known.share);
      if (known.items != 1024) continue;
      Items begin = 0;  // nothing had to be moved for that
      for (const auto& slices : result.slices) {
        for (const Slice& slice : slices) {
          CHECK(slice.begin == begin);
          begin = slice.end;
        }
      }
    }
  }
  Problem problem(1'000'000, {20e6, 20e6 / 3}, 64);
  CHECK(problem.ideal() / problem.run("equal").makespan == doctest::Approx(0.5).epsilon(0.01));
}

TEST_CASE("guided hands out the published chunks, down to a minimum that is asked for") {
  Problem problem(1000, {1, 1, 1, 1});
  CHECK(sizes_in_order(problem.run("guided", {{"K", 1}})) ==
        Shares{250, 188, 141, 106, 79, 59, 45, 33, 25, 19, 14, 11, 8, 6, 4, 3, 3, 2, 1, 1, 1, 1});
  CHECK(sizes_in_order(problem.run("guided", {{"variant", 2}})) ==
        Shares{125, 116, 108, 100, 91, 83, 75, 67, 58, 50, 42, 34, 25, 17, 9});
  problem.launch(1s);
  CHECK(sizes_in_order(problem.run("guided", {{"K", 1}, {"min", 10}})) ==
        Shares{250, 188, 141, 106, 79, 59, 45, 33, 25, 19, 14, 11, 10, 10, 10});
}

TEST_CASE("guided's least chunk is not a granule more because one device is a thousandth faster") {
  Problem problem(32, {12300, 12320});
  for (DeviceEstimate& device : problem.devices)
    device.minimum_slice = 588us;  // the time of 7.2 items
  CHECK(sizes_in_order(problem.run("guided")) == Shares{8, 8, 8, 8});
}

TEST_CASE("dynamic takes the number of chunks asked for, and fewer where launches are dear") {
  Problem problem(1'600'000, {32e6, 32e6});
  problem.launch(100us);  // 25 ms each: 2 % are five launches
  CHECK(slices_of(problem.run("dynamic")) == 12);
  CHECK(slices_of(problem.run("dynamic", {{"chunks", 16}})) == 32);
  CHECK(slices_of(problem.run("dynamic", {{"chunks", 64}})) == 128);
  problem.launch(1us);
  CHECK(slices_of(problem.run("dynamic")) == 32);
}

TEST_CASE("dynamic takes a number of chunks that comes out evenly, near the one worth it") {
  // A Merkle tree of 2^29 leaves on H200s, one of which may be three times slower.
  const auto of = [](std::vector<double> rates) {
    Problem problem(1024, rates);
    problem.request.merge = {1us, 1100ns, true};
    problem.launch(142us);
    if (rates[1] < rates[0]) problem.devices[1].launch = 426us, problem.real[1].launch = 426e-6;
    return problem;
  };
  // Ten chunks are worth it; along the tree they become nine boundaries, with one chunk larger.
  Problem pair = of({16610, 16610});
  CHECK(slices_of(pair.run("dynamic")) == 8);
  CHECK(pair.run("dynamic").makespan <= 1.02 * pair.run("equal").makespan);
  // Of 31 chunks the slow one would take eight; of 16 it takes four, which is as even with half of
  // the launches.
  Problem slow = of({16610, 16610.0 / 3});
  CHECK(slices_of(slow.run("dynamic")) == 16);
  CHECK(slow.ideal() / slow.run("dynamic").makespan >= 0.95);
  // The slow one of four devices takes a single chunk of 16.
  Problem four = of({16610, 16610.0 / 3, 16610, 16610});
  CHECK(four.ideal() / four.run("dynamic").makespan >= 0.9);
}

TEST_CASE("a slow device leaves dynamic's last chunk to a fast one that is done with it sooner") {
  // 14 chunks, of 14 and 46 ms on the two devices. The slow one is free at 138 ms, when the fast
  // one is about to end its tenth: another chunk would make it 184 ms instead of 154.
  Problem problem(1400, {100 / 14e-3, 100 / 46e-3});
  const Driven result = problem.run("dynamic", {{"chunks", 7}});
  CHECK(result.slices[1].size() == 3);
  CHECK(result.makespan == doctest::Approx(0.154));
  // After 100 ms the slow one of four leaves the last six chunks to the others: no single device
  // could have done them in the time of one slow chunk, but all three need 67 ms.
  Problem four(1600, {3000, 1000, 3000, 3000});
  const Driven shared = four.run("dynamic", {{"chunks", 4}});
  CHECK(shared.slices[1].size() == 1);
  CHECK(shared.makespan == doctest::Approx(5 * 100 / 3000.0));
  // No device waits for one that is only estimated to be fast.
  problem.real[0].slow = 100;
  problem.real[0].slow_at = 0;
  CHECK(problem.run("dynamic", {{"chunks", 7}}).slices[1].size() >= 12);
}

TEST_CASE("an idle device steals from the queue that would end last, in proportion to rates") {
  Problem problem(1600, {3, 1, 1});
  for (DeviceEstimate& e : problem.devices) e.items_per_s = 1;  // equal estimates: 533 each
  const Driven result = problem.run("stealing");
  CHECK(problem.ideal() / result.makespan >= 0.97);
  CHECK(result.items[0] == doctest::Approx(960).epsilon(0.04));
  // Items were stolen from the tails: every device's own work is the front of its third.
  CHECK(result.slices[1].front().begin == 534);
  CHECK(result.slices[2].front().begin == 1067);
}

TEST_CASE("nothing is stolen where a launch and a transfer cost more than it gains") {
  Problem problem(200, {1.1, 1});
  for (DeviceEstimate& e : problem.devices) e.items_per_s = 1;
  problem.launch(6s);  // the slower one ends 10 s later: 5 s could be gained
  CHECK(problem.run("stealing").items == Shares{100, 100});
  problem.launch(100ms);
  CHECK(problem.run("stealing").items[0] > 100);
}

TEST_CASE("steady equal devices keep their shares under adaptive, in few pieces") {
  Problem problem(1'000'000, {20e6, 20e6, 20e6, 20e6}, 64);
  problem.launch(10us);
  const Driven result = problem.run("adaptive");
  for (const auto& slices : result.slices) {
    CHECK(slices.size() <= 20);
    for (std::size_t k = 1; k < slices.size(); ++k)
      CHECK(slices[k].begin == slices[k - 1].end);  // nothing was moved
  }
}

TEST_CASE("a device that slows down to half is balanced by adaptive within three of its chunks") {
  for (const std::size_t n : {2, 4, 8}) {
    CAPTURE(n);
    Problem problem(1'000'000, std::vector<double>(n, 1e6 / static_cast<double>(n)), 8);  // 1 s
    problem.launch(100us);
    const std::size_t calm = slices_of(problem.run("adaptive"));
    problem.real[0].slow = 2;
    problem.real[0].slow_at = 0.5;
    const Driven result = problem.run("adaptive");
    // Half of the work is left, for n - 1/2 devices.
    const double ideal = 0.5 + 0.5 * static_cast<double>(n) / (static_cast<double>(n) - 0.5);
    CHECK(result.makespan <= 1.02 * ideal);
    // Its third chunk after the change comes from a queue that was already cut: it ends with the
    // others.
    double own = 0;
    for (const Slice& slice : result.slices[0]) own += static_cast<double>(slice.size());
    CHECK(own ==
          doctest::Approx(1e6 / static_cast<double>(n) * (0.5 + (ideal - 0.5) / 2)).epsilon(0.03));
    // Moving costs a launch for each additional slice, under 1 % of the run on every device.
    CHECK(static_cast<double>(slices_of(result) - calm) / static_cast<double>(n) * 100e-6 <
          0.01 * ideal);
    // There is no oscillation: the slow device gets back no more than a small remainder at the very
    // end.
    Items back = 0;
    for (const Slice& slice : result.slices[0])
      back += slice.end > 1'000'000 / n + 8 ? slice.size() : 0;
    CHECK(back <= 100);
  }
}

TEST_CASE("queues give out one piece at a time where it takes long and nothing is transferred") {
  // A tree of 2^30 leaves on two H200, one of which slows down to half after half of the 62 ms:
  // 72.3 ms at best.
  Problem problem(1024, {8305, 8305});
  problem.request.merge = {1us, 1100ns, true};
  problem.launch(142us);
  problem.request.devices = problem.devices;
  const auto second_answer = [&](const char* strategy) {
    const StrategyChoice choice = parse_strategies(strategy).front();
    const auto source = choice.info->make(choice.params)->begin(problem.request, {});
    CHECK(std::holds_alternative<Slice>(source->next({0})));
    return source->next({0});
  };
  for (const char* strategy : {"stealing", "adaptive"}) {
    CAPTURE(strategy);
    CHECK(second_answer(strategy) == Answer{Wait{false}});  // it need not collect yet
  }
  problem.real[0].slow = 2;
  problem.real[0].slow_at = 0.0308;
  CHECK(problem.run("adaptive").makespan <= 1.03 * 0.0723);
  problem.devices[0].on_cpu = true;
  CHECK(std::holds_alternative<Slice>(second_answer("adaptive")));
  problem.devices[0].on_cpu = false;
  problem.request.mode = Mode::end_to_end;  // uploads overlap kernels
  CHECK(std::holds_alternative<Slice>(second_answer("adaptive")));
  problem.request.mode = Mode::resident;
  CHECK(second_answer("adaptive") == Answer{Wait{false}});
  for (DeviceEstimate& e : problem.devices) e.items_per_s *= 5;  // the second device takes 1.7 ms
  problem.launch(1us);
  CHECK(std::holds_alternative<Slice>(second_answer("adaptive")));
}

TEST_CASE("adaptive reaches 0.93 at the third sample of a pair it knows nothing about") {
  Problem problem(1'000'000, {20e6, 20e6 / 3}, 64);
  problem.launch(20us);
  for (DeviceEstimate& e : problem.devices) e.items_per_s = 0;
  History history;
  double makespan = 0;
  for (int n = 0; n < 3; ++n) {
    const Driven result = problem.run("adaptive", {}, history);
    makespan = result.makespan;
    SampleShare share{result.items, {}, from_seconds(makespan)};
    for (std::size_t i = 0; i < 2; ++i) {
      share.busy.push_back(
          from_seconds(static_cast<double>(result.items[i]) / problem.real[i].rate));
    }
    history.push_back(share);
  }
  CHECK(problem.ideal() / makespan >= 0.93);
  CHECK(problem.ideal() / makespan >= 0.97);
}

// Tests what is learned from successive samples of two devices that share 1,000 items.
TEST_CASE("adaptive's shares follow what samples say, and no more than they say") {
  Problem problem(1000, {1, 1});
  const auto next = [&](const History& history) { return next_shares(problem, history); };
  const SampleShare calm = sample({500, 500}, {10, 10}), spike = sample({500, 500}, {10, 5});
  // Shares stay the same if a change would gain 2 % at most; a device without items gets a part of
  // its estimate.
  CHECK(next({sample({500, 500}, {10, 10.2})}) == Shares{500, 500});
  CHECK(next({sample({500, 500}, {10, 30})}) == Shares{250, 750});
  CHECK(next({sample({1000, 0}, {10, 30})})[1] > 400);
  // A single slow sample changes nothing; a device that stays slow does.
  CHECK(next({calm, calm, calm, spike}) == Shares{500, 500});
  CHECK(next({calm, calm, spike, spike}) == Shares{667, 333});
  // A change that made things worse is rolled back whatever the rates say, and not tried again.
  const SampleShare before = sample({500, 500}, {10, 30});
  History history{before, sample({250, 750}, {10, 30}, 2.5)};
  for (int n = 0; n < 6; ++n) {
    CHECK(next(history) == Shares{500, 500});
    history.push_back(before);
  }
  // Samples are judged by their initial shares, not by what was moved since. The second device is
  // slow in half of each. Begun as 600 and 400, the sample ends evenly; begun as equals, 80 items
  // are moved too late.
  SampleShare good = sample({600, 400}, {10, 6.67}), bad = sample({580, 420}, {10, 6}, 1.1);
  good.first = {600, 400};
  bad.first = {500, 500};
  CHECK(next({bad, good}) == Shares{600, 400});
  CHECK(next({good, bad}) == Shares{600, 400});
  good.items = {590, 410};  // some were moved for nothing: the initial shares were others
  CHECK(next({bad, good}) == Shares{600, 400});
  // A rollback does not restore shares that were good until a device became slower.
  History changed(4, calm);
  for (int n = 0; n < 3; ++n) changed.push_back(sample({500, 500}, {10, 3.33}));
  CHECK(next(changed) == Shares{750, 250});
  changed.push_back(sample({750, 250}, {10, 3.33}));
  CHECK(next(changed) == Shares{750, 250});
}

TEST_CASE("samples of other devices or of a part of the work teach nothing") {
  Problem problem(1000, {1, 1});
  PlanRequest request = problem.request;
  request.devices = problem.devices;
  for (const SampleShare& useless : {sample({500, 400}, {1, 1}), sample({500, 250, 250}, {1, 1, 1}),
                                     SampleShare{{500, 500}, {}, Nanos{}}}) {
    CHECK_FALSE(learned_shares(request, {useless}, {1, 1}));
  }
}

TEST_CASE("remainders that take as long as full slices are not moved to and fro") {
  // 2^22 leaves on four H200, with the estimates of a real run: each upload of 64 granules takes
  // 0.2 ms, and no kernel takes less than 75 us.
  Problem problem(1024, std::vector<double>(4, 8.5e6), 64);
  problem.request.mode = Mode::end_to_end;
  problem.request.cost.in_bytes = 131072;
  problem.request.link_up = LinkRate({105e9, 105e9, 141e9, 160e9});
  problem.request.merge = {1us, 1100ns, true};
  for (DeviceEstimate& e : problem.devices) {
    e.up = 55e9;
    e.fixed = 88us;
    e.minimum_slice = 75us;
    e.transfer = 2us;
  }
  problem.request.devices = problem.devices;
  const auto simulated = [&](const char* strategy) {
    const StrategyChoice choice = parse_strategies(strategy).front();
    return simulate(problem.request, *choice.info->make(choice.params)->begin(problem.request, {}));
  };
  const Simulation equal = simulated("equal");
  for (const char* strategy : {"stealing", "adaptive"}) {
    CAPTURE(strategy);
    const Simulation done = simulated(strategy);
    // It took 1.3 times as long when only launches were weighed.
    CHECK(seconds(done.makespan) <= 1.02 * seconds(equal.makespan));
    for (const SimulatedDevice& device : done.devices) CHECK(device.slices <= 5);
  }
}
