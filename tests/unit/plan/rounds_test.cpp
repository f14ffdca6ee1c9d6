// Partitions of iterative work.
#include "lib/plan/rounds.hpp"

#include <doctest/doctest.h>

#include "lib/base/error.hpp"

using namespace mgpu;

namespace {

struct RoundsRequest {
  explicit RoundsRequest(std::size_t count) : devices(count) {
    for (std::size_t i = 0; i < count; ++i) {
      devices[i].items_per_s = 100.0 * static_cast<double>(i + 1);
      devices[i].score = 50;
      devices[i].fits = 1000;
      devices[i].pipeline = 10;  // iterative work ignores it
    }
    plan.items = 600;
    plan.devices = devices;
    plan.rounds = 7;
  }
  std::vector<DeviceEstimate> devices;
  PlanRequest plan;
};

std::unique_ptr<SliceSource> begin_rounds(const std::string& strategy, const PlanRequest& request) {
  const StrategyChoice choice = parse_strategies(strategy).front();
  return begin_strategy(*choice.info, choice.params, request, {});
}

// Returns one time of an iteration per device.
std::vector<std::vector<Nanos>> times(std::initializer_list<Nanos> busy) {
  std::vector<std::vector<Nanos>> all;
  for (const Nanos time : busy) all.push_back({time});
  return all;
}

}  // namespace

TEST_CASE("every strategy with rounds gives each device one slice, or is refused by name") {
  for (const StrategyInfo& info : all_strategies()) {
    CAPTURE(info.name);
    const RoundsRequest request(3);
    std::unique_ptr<SliceSource> source;
    try {
      source = begin_rounds(info.name, request.plan);
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::unsupported);
      CHECK(std::string(error.what()).find(info.name) != std::string::npos);
      CHECK_FALSE(info.traits.fixed_shares);
      continue;
    }
    Items next = 0;
    std::vector<Slice> given;
    for (std::uint32_t i = 0; i < 3; ++i) {
      const Answer answer = source->next({i});
      if (const auto* slice = std::get_if<Slice>(&answer)) {
        CHECK(slice->begin == next);
        next = slice->end;
        given.push_back(*slice);
      }
      CHECK(std::holds_alternative<Wait>(source->next({i})));
    }
    CHECK(next == 600);
    for (const Slice& slice : given) source->finished({0}, slice, {});
    CHECK(std::holds_alternative<Done>(source->next({2})));
  }
}

TEST_CASE("a share that does not fit its device is refused") {
  RoundsRequest request(2);
  request.devices[0].fits = 299;
  CHECK_THROWS_AS(begin_rounds("equal", request.plan), Error);
}

TEST_CASE("who loses a device with a share loses the sample; one without takes nothing along") {
  const auto source = make_kept_shares({4, 0, 2});
  source->lost({1}, {});
  CHECK_THROWS_AS(source->lost({2}, {}), Error);
  CHECK_THROWS_AS(source->joined({3}), Error);
}

TEST_CASE("borders move to where all are busy for as long, if that gains more than it costs") {
  RoundsRequest request(2);
  request.plan.rounds = 100;
  request.plan.cost.in_bytes = request.plan.cost.out_bytes = 1;
  Rebalancer rebalancer(request.plan, {300, 300});
  CHECK(rebalancer.next_rebalance(0) == 4U);
  using namespace std::chrono_literals;
  // 300 items in 1 ms and in 2 ms: the slower device gets a third of all items.
  const auto shares = rebalancer.meet(times({1ms, 2ms}));
  REQUIRE(shares);
  CHECK(*shares == std::vector<Items>{400, 200});
  CHECK(rebalancer.next_rebalance(0) == 8U);
  CHECK_FALSE(rebalancer.meet(times({1333us, 1333us})));  // balanced
  CHECK_FALSE(rebalancer.meet(times({1333us, 1340us})));  // within noise
  CHECK_FALSE(rebalancer.meet(std::vector<std::vector<Nanos>>{{1ms, 3ms, 3ms}, {1ms, 1ms, 1ms}}));
  CHECK(rebalancer.shares() == *shares);
  CHECK(rebalancer.next_rebalance(40) == 48U);  // 16 iterations of 3 ms after the last
  CHECK(rebalancer.next_rebalance(48) == 96U);
  CHECK_FALSE(rebalancer.next_rebalance(96));

  request.plan.cost.in_bytes = request.plan.cost.out_bytes =
      1e9;  // 100 such items would take minutes
  Rebalancer heavy(request.plan, {300, 300});
  CHECK(heavy.next_rebalance(0) == 4U);
  CHECK_FALSE(heavy.meet(times({1ms, 2ms})));
}

TEST_CASE("a device that becomes slower is noticed within 50 ms, or eight iterations if longer") {
  RoundsRequest request(2);
  request.plan.rounds = 200;
  request.plan.cost.in_bytes = request.plan.cost.out_bytes = 1;
  using namespace std::chrono_literals;
  const auto points = [&](Nanos each) {
    Rebalancer rebalancer(request.plan, {300, 300});
    std::vector<std::uint32_t> all;
    for (auto at = rebalancer.next_rebalance(0); at; at = rebalancer.next_rebalance(*at)) {
      all.push_back(*at);
      CHECK_FALSE(rebalancer.meet(times({each, each})));
    }
    return all;
  };
  CHECK(points(100us) == std::vector<std::uint32_t>{4, 8, 16, 32, 64, 128});
  CHECK(points(2ms) == std::vector<std::uint32_t>{4, 8, 16, 32, 57, 82, 107, 132, 157, 182});
  const std::vector<std::uint32_t> slow = points(20ms);
  CHECK(slow.size() == 25);
  CHECK(slow.back() == 200 - 8);
}

// Two GPUs hold half of 8192 rows of 8192 cells each, and one of them slows down: moving 1365 rows
// would take 90 ms through the host and 0.1 ms over a direct link, and the remaining iterations
// gain 9 ms.
TEST_CASE("what moving borders costs goes by the links between the devices") {
  RoundsRequest request(2);
  request.plan.items = 8192;
  request.plan.rounds = 200;
  request.plan.cost.in_bytes = request.plan.cost.out_bytes = 32768;
  for (DeviceEstimate& device : request.devices) device.fits = 8192;
  using namespace std::chrono_literals;
  const auto meet = [&] {
    Rebalancer rebalancer(request.plan, {4096, 4096});
    CHECK(rebalancer.next_rebalance(0) == 4U);
    return rebalancer.meet(times({75us, 150us}));
  };
  CHECK_FALSE(meet());
  request.plan.exchange.links = PeerLinks(2, {PeerPath::direct, 380e9, 17us});
  CHECK(meet() == std::vector<Items>{5461, 2731});
  request.plan.exchange.links.of(1, 0).bytes_per_s = 1e9;  // the direction in which rows go
  CHECK_FALSE(meet());
}

TEST_CASE("borders leave a share to all that had one and to no other, and no more than fits") {
  RoundsRequest request(3);
  request.plan.rounds = 100;
  Rebalancer all(request.plan, {300, 0, 300});
  using namespace std::chrono_literals;
  CHECK(all.next_rebalance(0) == 4U);
  CHECK_FALSE(all.meet(times({1ms, 0ms, 1000s})));

  request.devices[0].fits = 350;
  Rebalancer rebalancer(request.plan, {300, 0, 300});
  CHECK(rebalancer.next_rebalance(0) == 4U);
  const auto shares = rebalancer.meet(times({1ms, 0ms, 3ms}));
  REQUIRE(shares);
  CHECK(*shares == std::vector<Items>{350, 0, 250});
  rebalancer.keep();
  CHECK(rebalancer.shares() == std::vector<Items>{300, 0, 300});
  CHECK_FALSE(rebalancer.next_rebalance(0));
}
