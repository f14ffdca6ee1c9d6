// Stages on devices: the partition of a chain, and its predicted time.
#include "lib/plan/chain.hpp"

#include <doctest/doctest.h>

#include <numeric>
#include <random>

#include "lib/base/error.hpp"
#include "lib/plan/rounds.hpp"

using namespace mgpu;

namespace {

struct ChainRequest {
  ChainRequest(std::vector<StageTimes> devices, std::uint32_t batches) : estimates(devices.size()) {
    const std::size_t stages = devices.front().keeps.size();
    chain = {std::move(devices), std::vector<Bytes>(stages, 1000)};
    for (DeviceEstimate& estimate : estimates) {
      estimate.items_per_s = 1;
      estimate.score = 10;
      estimate.fits = estimate.pipeline = stages;
    }
    plan.items = stages;
    plan.rounds = batches;
    plan.devices = estimates;
    plan.chain = &chain;
  }
  std::vector<DeviceEstimate> estimates;
  ChainEstimate chain;
  PlanRequest plan;
};

double seconds_of(const PlanRequest& request, const std::vector<Items>& shares) {
  return seconds(simulate_chain(request, shares).makespan);
}

// Calls f with every way to give consecutive stages to devices in order.
void for_each_partition(std::size_t devices, Items stages, std::vector<Items>& so_far,
                        const auto& f) {
  if (so_far.size() + 1 == devices) {
    so_far.push_back(stages);
    f(so_far);
    so_far.pop_back();
    return;
  }
  for (Items share = 0; share <= stages; ++share) {
    so_far.push_back(share);
    for_each_partition(devices, stages - share, so_far, f);
    so_far.pop_back();
  }
}

std::vector<Items> chain_shares(const char* strategy, const PlanRequest& request) {
  const StrategyChoice choice = parse_strategies(strategy).front();
  return begin_strategy(*choice.info, choice.params, request, {})->first_shares();
}

}  // namespace

TEST_CASE("stages are cut where the slowest device takes least, and the heavy one is by itself") {
  const StageTimes times{{4, 1, 1, 1}, {4, 1, 1, 1}};
  const ChainRequest request({times, times}, 100);
  CHECK(balanced_chain(request.plan) == std::vector<Items>{1, 3});
  CHECK(seconds_of(request.plan, {1, 3}) == doctest::Approx(7 + 99 * 4));
  CHECK(seconds_of(request.plan, {2, 2}) == doctest::Approx(7 + 99 * 5));
}

TEST_CASE("a cut where much goes over the link is left for one where less does, or for none") {
  StageTimes times{{2, 2, 2}, {20, 2, 2}};
  CHECK(balanced_chain(ChainRequest({times, times}, 50).plan) == std::vector<Items>{2, 1});
  times.hands_over = {20, 20, 2};
  CHECK(balanced_chain(ChainRequest({times, times}, 50).plan) == std::vector<Items>{3, 0});
}

TEST_CASE("one batch stays on the fastest device, and unequal devices have what each does well") {
  const StageTimes slow{{3, 3, 3}, {3, 3, 3}}, fast{{1, 1, 1}, {1, 1, 1}};
  CHECK(balanced_chain(ChainRequest({slow, fast}, 1).plan) == std::vector<Items>{0, 3});
  CHECK(balanced_chain(ChainRequest({fast, slow}, 1).plan) == std::vector<Items>{3, 0});
  const StageTimes first{{1, 9, 9}, {1, 9, 9}}, others{{9, 1, 1}, {9, 1, 1}};
  CHECK(balanced_chain(ChainRequest({first, others}, 20).plan) == std::vector<Items>{1, 2});
}

TEST_CASE("no partition of small chains on unequal devices takes less than the one that is found") {
  std::mt19937_64 random(3);
  for (unsigned n = 0; n < 300; ++n) {
    const std::size_t devices = 1 + random() % 4, stages = 1 + random() % 6;
    std::vector<StageTimes> times(devices);
    for (StageTimes& of : times) {
      for (std::size_t s = 0; s < stages; ++s) {
        of.keeps.push_back(static_cast<double>(1 + random() % 20));
        of.hands_over.push_back(of.keeps.back() + static_cast<double>(random() % 6));
      }
    }
    const ChainRequest request(times, static_cast<std::uint32_t>(1 + random() % 12));
    double best = 1e9;
    std::vector<Items> so_far;
    for_each_partition(devices, stages, so_far, [&](const std::vector<Items>& shares) {
      best = std::min(best, seconds_of(request.plan, shares));
    });
    const std::vector<Items> found = balanced_chain(request.plan);
    CHECK(std::accumulate(found.begin(), found.end(), Items{0}) == stages);
    CHECK(seconds_of(request.plan, found) == doctest::Approx(best));
  }
}

TEST_CASE("a batch takes the sum of all devices' times, and each one more the longest of them") {
  const std::vector<double> each{2, 5, 3};
  CHECK(seconds_of_batches(each, 1) == doctest::Approx(10));
  CHECK(seconds_of_batches(each, 4) == doctest::Approx(25));
  CHECK(seconds_of_batches({}, 4) == 0);
}

TEST_CASE("where kernels do not reach the next device, the link says what a batch takes there") {
  const StageTimes times{{2, 2}, {}};
  ChainRequest request({times, times}, 10);
  request.plan.exchange.links = PeerLinks(2, {PeerPath::staged, 500, std::chrono::seconds(1)});
  CHECK(seconds_of_part(request.plan, 0, {0, 1}, 1) == doctest::Approx(2 + 2 + 1));
  CHECK(seconds_of_part(request.plan, 1, {1, 2}, std::nullopt) == doctest::Approx(2));
  CHECK(balanced_chain(request.plan) == std::vector<Items>{2, 0});
}

TEST_CASE("records that go up and results that go down may be what the ends wait for") {
  const StageTimes times{{2, 2}, {2, 2}};
  ChainRequest request({times, times}, 10);
  request.plan.mode = Mode::end_to_end;
  request.plan.cost.in_bytes = 500;  // per stage and all batches: 100 per batch
  request.plan.cost.out_bytes = 50;
  for (DeviceEstimate& estimate : request.estimates) estimate.up = estimate.down = 20;
  CHECK(seconds_of_part(request.plan, 0, {0, 1}, 1) == doctest::Approx(5));
  CHECK(seconds_of_part(request.plan, 1, {1, 2}, std::nullopt) == doctest::Approx(2));
}

TEST_CASE("strategies that go by rates balance stages, equal counts them; all need room") {
  const StageTimes times{{4, 1, 1, 1}, {4, 1, 1, 1}};
  ChainRequest request({times, times}, 100);
  for (const char* strategy : {"capability", "latency", "adaptive"})
    CHECK(chain_shares(strategy, request.plan) == std::vector<Items>{1, 3});
  CHECK(chain_shares("equal", request.plan) == std::vector<Items>{2, 2});
  for (DeviceEstimate& estimate : request.estimates) estimate.fits = 0;
  CHECK_THROWS_AS(balanced_chain(request.plan), Error);
}
