// The automatic choice, on device sets whose best plan is known.
#include "lib/plan/choose.hpp"

#include <doctest/doctest.h>

#include "lib/base/error.hpp"
#include "tests/support/simulated_set.hpp"

using namespace mgpu;
using test::SimulatedSet;

namespace {

// Returns devices of a million items per second.
SimulatedSet choice_set(std::size_t count, Items items, const std::string& words = "") {
  SimulatedSet set(count, items, items, "rate=0.001 " + words);
  for (DeviceEstimate& device : set.estimates) device.free_memory = Bytes{1} << 40;
  return set;
}

PlanChoice chosen_for(SimulatedSet& set) { return choose_plan(set.asked()); }

bool mentions(const PlanChoice& choice, const std::string& what) {
  return std::any_of(choice.reasons.begin(), choice.reasons.end(), [&](const std::string& reason) {
    return reason.find(what) != std::string::npos;
  });
}

}  // namespace

TEST_CASE("large work on equal devices goes to all of them in equal shares") {
  SimulatedSet set = choice_set(4, 10'000'000);
  const PlanChoice choice = chosen_for(set);
  CHECK(choice.chosen.strategy->name == "equal");
  CHECK(choice.chosen.devices == 4);
  CHECK(seconds(choice.chosen.predicted) == doctest::Approx(2.5));
  CHECK(mentions(choice, "2.50 s"));
  CHECK(mentions(choice, "10.0 s, 4.00 times as long"));
}

TEST_CASE("work smaller than the start of a second device stays on one") {
  SimulatedSet set = choice_set(4, 1000);  // 1 ms on one
  for (auto& device : set.estimates) device.fixed = std::chrono::milliseconds(1);
  set.request.merge.per_slice = std::chrono::milliseconds(1);
  const PlanChoice choice = chosen_for(set);
  CHECK(choice.chosen.strategy->name == "single");
  CHECK(choice.chosen.devices == 1);
  CHECK(mentions(choice, "2 devices would take"));
  CHECK(choose_plan(set.asked(), 2).chosen.devices == 2);
  CHECK(choose_plan(set.asked(), 3).chosen.devices == 3);
  CHECK(choose_plan(set.asked(), 9).chosen.devices == 4);  // as many as there are
}

TEST_CASE("the rule of thumb takes one device per 10,000 units, at most four") {
  SimulatedSet set = choice_set(5, 1'000'000);  // 1 s on one device
  for (const auto& [units, devices] :
       {std::pair{1, 1}, {19'999, 1}, {20'000, 2}, {45'000, 4}, {90'000, 4}}) {
    const auto candidate = rule_of_thumb(set.asked(), static_cast<std::uint64_t>(units));
    REQUIRE(candidate);
    CHECK(candidate->devices == static_cast<std::size_t>(devices));
    CHECK(candidate->strategy->name == "equal");
    CHECK(seconds(candidate->predicted) == doctest::Approx(1.0 / devices));
  }
  CHECK(rule_of_thumb(choice_set(2, 1'000'000).asked(), 90'000)->devices == 2);
}

TEST_CASE("fewer devices are chosen where no more are predicted to be faster, however little") {
  const auto devices = [](Nanos part) {
    SimulatedSet set = choice_set(2, 1000);  // 1 ms on one, 0.5 ms and two parts on both
    set.request.merge.per_slice = part;
    return chosen_for(set).chosen.devices;
  };
  CHECK(devices(std::chrono::microseconds(245)) == 2);
  CHECK(devices(std::chrono::microseconds(250)) == 1);
  CHECK(devices(std::chrono::microseconds(255)) == 1);
}

TEST_CASE("the objective decides between speed and power") {
  SimulatedSet set = choice_set(2, 1'000'000);  // 1 s on one device, 0.5 s on both
  const auto chosen = [&](Objective objective) {
    set.request.objective = objective;
    return chosen_for(set);
  };
  CHECK(chosen(Objective::energy).chosen.devices == 2);  // no power is known
  for (DeviceEstimate& device : set.estimates) device.idle_w = 100;
  set.estimates[0].busy_w = 500;
  set.estimates[1].busy_w = 200;
  const PlanChoice frugal = chosen(Objective::energy);
  CHECK(frugal.uses == std::vector<bool>{false, true});
  CHECK(frugal.chosen.joules == doctest::Approx(200));
  const PlanChoice both = chosen(Objective::edp);  // 350 J x 0.5 s instead of 200 J x 1 s
  CHECK(both.chosen.devices == 2);
  CHECK(both.chosen.joules == doctest::Approx(350).epsilon(0.01));
  CHECK(chosen(Objective::time).chosen.devices == 2);
}

TEST_CASE("what was chosen begins as it would have on its devices alone") {
  SimulatedSet set = choice_set(3, 900);
  set.estimates[1].items_per_s = 1;  // far too slow
  const PlanChoice choice = chosen_for(set);
  REQUIRE(choice.uses == std::vector<bool>{true, false, true});
  const auto source = begin_chosen(choice, set.request, {});
  CHECK(std::get<Slice>(source->next({0})).size() == 450);
  CHECK_FALSE(std::holds_alternative<Slice>(source->next({1})));
  CHECK(std::get<Slice>(source->next({2})).size() == 450);
}

TEST_CASE("of a fast device and a slow one that only costs, the fast one alone is chosen") {
  SimulatedSet set = choice_set(2, 1'000'000);
  set.estimates[0].items_per_s = 1e4;  // the first of the set is the slow one
  set.estimates[0].fixed = std::chrono::seconds(5);
  const PlanChoice choice = chosen_for(set);
  CHECK(choice.chosen.strategy->name == "single");
  CHECK(choice.uses == std::vector<bool>{false, true});
}

TEST_CASE("unequal devices are not given equal shares") {
  SimulatedSet set = choice_set(2, 1'000'000);
  set.estimates[1].items_per_s = 3e6;
  const PlanChoice choice = chosen_for(set);
  CHECK(choice.chosen.devices == 2);
  CHECK(choice.chosen.strategy->name != "equal");
  CHECK(seconds(choice.chosen.predicted) == doctest::Approx(0.25).epsilon(0.03));
}

TEST_CASE("the fewest devices all get a share, also if one alone is predicted to be faster") {
  SimulatedSet set = choice_set(2, 1000);
  set.estimates[1].items_per_s = 3e5;
  for (auto& device : set.estimates) device.fixed = std::chrono::milliseconds(2);
  set.request.merge.per_slice = std::chrono::milliseconds(1);
  const PlanChoice choice = choose_plan(set.asked(), 2);
  const std::vector<Items> shares = begin_chosen(choice, set.request, {})->first_shares();
  CHECK(std::count(shares.begin(), shares.end(), Items{0}) == 0);
  for (const Candidate& each : choice.considered) CHECK(each.strategy->name != "sequential");
  SimulatedSet one = choice_set(2, 1);  // too few items
  CHECK(choose_plan(one.asked(), 2).chosen.devices >= 1);
}

TEST_CASE("iterative work is not rebalanced by choice, as predicted rates do not change") {
  SimulatedSet set = choice_set(2, 1'000'000);
  set.estimates[0].fixed = std::chrono::milliseconds(40);
  set.estimates[0].items_per_s = 1.5e6;
  const auto chosen = [&](std::uint32_t rounds) {
    set.request.rounds = rounds;
    return chosen_for(set);
  };
  const auto considers = [](const PlanChoice& choice, const std::string& name) {
    return std::any_of(choice.considered.begin(), choice.considered.end(),
                       [&](const Candidate& each) { return each.strategy->name == name; });
  };
  CHECK(considers(chosen(0), "adaptive"));
  CHECK(chosen(10).chosen.strategy->name == "latency");
  CHECK_FALSE(considers(chosen(10), "adaptive"));
}

TEST_CASE("of more devices than are simulated the choice is the same as of a few") {
  SimulatedSet set = choice_set(100, 100'000'000);
  for (auto& device : set.estimates) device.fixed = std::chrono::milliseconds(2);
  const PlanChoice alike = chosen_for(set);
  CHECK(alike.chosen.strategy->name == "equal");
  CHECK(alike.chosen.devices == 100);
  CHECK(seconds(alike.chosen.predicted) == doctest::Approx(1.002));
  for (std::size_t i = 0; i < 50; ++i) set.estimates[i].items_per_s = 3e6;
  const PlanChoice unequal = chosen_for(set);
  CHECK(unequal.chosen.strategy->name == "capability");
  CHECK(seconds(unequal.chosen.predicted) == doctest::Approx(0.502));
  for (const Candidate& candidate : unequal.considered)
    CHECK(candidate.strategy->traits.fixed_shares);
  set.estimates[7].items_per_s = 0;
  CHECK_THROWS_AS(chosen_for(set), Error);
  set.estimates[7].items_per_s = 3e6;
  for (auto& device : set.estimates) device.fits = device.pipeline = 0;
  CHECK_THROWS_AS(chosen_for(set), Error);
}

TEST_CASE("a full host link is a reason for fewer devices") {
  SimulatedSet set = choice_set(8, 1'000'000, "end-to-end");
  for (auto& device : set.estimates) device.pipeline = 15'625;
  set.request.cost.in_bytes = 1000;
  for (auto& device : set.estimates) {
    device.up = 1e9;
    device.items_per_s = 1e8;
  }
  set.request.link_up = 2e9;  // enough for two devices
  const PlanChoice choice = chosen_for(set);
  CHECK(choice.chosen.devices == 2);
  CHECK(mentions(choice, "the host link is what limits"));
}

TEST_CASE("a device in reserve is left out, and without a rate there is no choice") {
  SimulatedSet set = choice_set(2, 1'000'000);
  set.estimates[1].reserve = true;
  CHECK(chosen_for(set).uses == std::vector<bool>{true, false});
  set.estimates[1].reserve = false;
  set.estimates[1].items_per_s = 0;
  CHECK_THROWS_AS(chosen_for(set), Error);
}

TEST_CASE("auto is not in the table of strategies, and gives out what the chosen one would") {
  for (const StrategyInfo& info : all_strategies()) CHECK(info.name != "auto");
  SimulatedSet set = choice_set(2, 100);
  const StrategyChoice automatic = parse_strategies("auto").front();
  const auto source = automatic.info->make(automatic.params)->begin(set.asked(), {});
  CHECK(source->next(DeviceIndex{0}) == Answer{Slice{0, 50}});
  CHECK(source->next(DeviceIndex{1}) == Answer{Slice{50, 100}});
}
