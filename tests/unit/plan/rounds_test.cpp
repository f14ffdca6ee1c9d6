// Shares of work that goes in rounds.
#include "lib/plan/rounds.hpp"

#include <doctest/doctest.h>

#include "lib/base/error.hpp"

using namespace mgpu;

namespace {

struct Request {
  explicit Request(std::size_t count) : devices(count) {
    for (std::size_t i = 0; i < count; ++i) {
      devices[i].items_per_s = 100.0 * static_cast<double>(i + 1);
      devices[i].score = 50;
      devices[i].fits = 1000;
      devices[i].pipeline = 10;  // which rounds do not care for
    }
    plan.items = 600;
    plan.devices = devices;
    plan.rounds = 7;
  }
  std::vector<DeviceEstimate> devices;
  PlanRequest plan;
};

std::unique_ptr<SliceSource> begin(const std::string& strategy, const PlanRequest& request) {
  const StrategyChoice choice = parse_strategies(strategy).front();
  return begin_strategy(*choice.info, choice.params, request, {});
}

}  // namespace

TEST_CASE("every strategy with rounds gives each device one slice, and all of them cover the items, or is refused by name") {
  for (const StrategyInfo& info : all_strategies()) {
    CAPTURE(info.name);
    const Request request(3);
    std::unique_ptr<SliceSource> source;
    try {
      source = begin(info.name, request.plan);
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::unsupported);
      CHECK(std::string(error.what()).rfind(info.name, 0) == 0);
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
  Request request(2);
  request.devices[0].fits = 299;
  CHECK_THROWS_AS(begin("equal", request.plan), Error);
}

TEST_CASE("who loses a device with a share loses the sample; one without takes nothing along") {
  const auto source = make_kept_shares({4, 0, 2});
  source->lost({1}, {});
  CHECK_THROWS_AS(source->lost({2}, {}), Error);
  CHECK_THROWS_AS(source->joined({3}), Error);
}
