// Rates, pieces and memory by worked examples, and water-filling.
#include "lib/plan/cost_model.hpp"

#include <doctest/doctest.h>

#include "lib/plan/water_fill.hpp"

using namespace mgpu;

namespace {

using Rates = std::vector<double>;

struct CostPlan {
  explicit CostPlan(std::vector<DeviceEstimate> list) : devices(std::move(list)) {
    request.items = 1000;
    for (DeviceEstimate& device : devices) device.fits = 1000;
    request.devices = devices;
  }
  std::vector<DeviceEstimate> devices;
  PlanRequest request;
};

DeviceEstimate rated_device(double rate, double score = 0) {
  DeviceEstimate e;
  e.items_per_s = rate;
  e.score = score;
  return e;
}

}  // namespace

TEST_CASE("the slowest of upload, compute and download decides the pipelined rate") {
  CostPlan plan({rated_device(100)});
  DeviceEstimate& d = plan.devices[0];
  d.up = 400;
  d.down = 600;
  plan.request.cost = {10, 20, 0, 0};
  CHECK(pipelined_rate(plan.request, d) == 100);  // resident samples have no transfers
  plan.request.mode = Mode::end_to_end;
  CHECK(pipelined_rate(plan.request, d) == 30);
  d.down = 0;  // unknown: free
  CHECK(pipelined_rate(plan.request, d) == 40);
  d.items_per_s = 7;
  CHECK(pipelined_rate(plan.request, d) == 7);
  d.items_per_s = 0;
  CHECK(pipelined_rate(plan.request, d) == 0);
}

TEST_CASE("an unknown rate is put beside the known ones by its score") {
  const auto rates = [](std::vector<DeviceEstimate> devices) {
    return estimated_speeds(CostPlan(std::move(devices)).request).rates;
  };
  CHECK(rates({rated_device(100, 50), rated_device(300, 50), rated_device(0, 25)}) ==
        Rates{100, 300, 100});
  CHECK(rates({rated_device(100), rated_device(300), rated_device(0)}) == Rates{100, 300, 100});
  CHECK(rates({rated_device(100, 50), rated_device(0)}) == Rates{100, 100});
  CHECK(rates({rated_device(0, 95), rated_device(0, 80), rated_device(0)}) == Rates{95, 80, 80});
  CHECK(rates({rated_device(0), rated_device(0)}) == Rates{1, 1});
  CHECK(estimated_speeds(CostPlan({rated_device(100), rated_device(0)}).request).timed);
  CHECK_FALSE(estimated_speeds(CostPlan({rated_device(0, 95), rated_device(0, 80)}).request).timed);
}

TEST_CASE("devices in reserve have no rate as long as another can work") {
  CostPlan plan({rated_device(100), rated_device(300)});
  plan.devices[1].reserve = true;
  CHECK(estimated_speeds(plan.request).rates == Rates{100, 0});
  plan.devices[0].fits = 0;
  CHECK(estimated_speeds(plan.request).rates == Rates{0, 300});
}

TEST_CASE("launches decide how many pieces are worth it") {
  CHECK(pieces_worth(0, 1, 0.02, 16) == 16);  // unknown
  CHECK(pieces_worth(100e-6, 6.25e-3, 0.02, 16) ==
        2);  // launches may take 125 us, one more than the first
  CHECK(pieces_worth(100e-6, 25e-3, 0.02, 16) == 6);
  CHECK(pieces_worth(1, 1, 0.02, 16) == 1);
  CHECK(pieces_worth(1e-9, 1, 0.02, 16) == 16);
}

TEST_CASE("the more devices differ, the more launches are worth") {
  CHECK(launch_share(std::vector<double>{5, 0, 5}) == doctest::Approx(0.02));
  CHECK(launch_share(std::vector<double>{1, 2.2}) == doctest::Approx(0.03));
  CHECK(launch_share(std::vector<double>{1, 100}) == doctest::Approx(0.04));
  CHECK(launch_share(std::vector<double>{1, 1.06}, 0.5, 0.05) == doctest::Approx(0.03));
  CHECK(launch_share(std::vector<double>{1, 3}, 0.5, 0.05) == doctest::Approx(0.05));
  CHECK(launch_share({}) == doctest::Approx(0.02));
  CHECK(average_rate(std::vector<double>{6, 0, 2}) == doctest::Approx(4));
  CHECK(average_rate({}) == 0);
}

TEST_CASE("a slice costs its launch where compute decides, and its transfer where that does") {
  CostPlan plan({rated_device(100)});
  DeviceEstimate& d = plan.devices[0];
  d.launch = Nanos{30};
  d.transfer = Nanos{70};
  d.up = 400;
  plan.request.cost.in_bytes = 10;
  CHECK(slice_overhead(plan.request, d) == Nanos{30});
  plan.request.mode = Mode::end_to_end;
  CHECK(slice_overhead(plan.request, d) == Nanos{70});
}

TEST_CASE("memory holds what is free, in whole granules, and never more than fits") {
  CostPlan plan({rated_device(1)});
  plan.request.granularity = 8;
  plan.request.cost = {6, 4, 0, 100};
  DeviceEstimate& d = plan.devices[0];
  CHECK(memory_holds(plan.request, d) == 1000);
  d.free_memory = 900;  // 80 items in addition to the replicated bytes
  CHECK(memory_holds(plan.request, d) == 80);
  d.free_memory = 890;
  CHECK(memory_holds(plan.request, d) == 72);
  d.free_memory = 50;
  CHECK(memory_holds(plan.request, d) == 0);
  d.free_memory = 1'000'000;
  d.fits = 77;
  CHECK(memory_holds(plan.request, d) == 72);
}

TEST_CASE("water-filling ends all at once, but for who starts too late or is full") {
  struct Known {
    double amount;
    std::vector<WaterTerm> terms;
    std::vector<double> amounts;
    double end;
  };
  for (const Known& known :
       {Known{1000, {{1, 0.01}, {1, 0.02}, {50, 0.05}}, {666.67, 333.33, 0}, 7.6667},
        {1000, {{1, 0.01, 400}, {1, 0.02}, {1, 0.05}}, {400, 428.57, 171.43}, 9.5714},
        {50, {{0, 1, 10}, {100, 1}}, {10, 40}, 140},  // reduced when the others are full
        {0, {{0, 1, 10}, {100, 1}}, {0, 0}, -1}}) {
    const WaterLevel level = water_fill(known.amount, known.terms);
    REQUIRE(level.amounts.size() == known.amounts.size());
    for (std::size_t i = 0; i < known.amounts.size(); ++i)
      CHECK(level.amounts[i] == doctest::Approx(known.amounts[i]).epsilon(1e-5));
    if (known.end >= 0) CHECK(level.end == doctest::Approx(known.end).epsilon(1e-5));
  }
  const WaterTerm small[] = {{0, 1, 10}, {0, 1, 5}};  // all are full
  CHECK(water_fill(50, small).amounts == std::vector<double>{10, 5});
}
