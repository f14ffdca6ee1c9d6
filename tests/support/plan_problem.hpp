// A problem and devices for tests of strategies, driven by plan_driver.hpp.
#pragma once

#include <doctest/doctest.h>

#include "tests/support/pairs.hpp"
#include "tests/support/plan_driver.hpp"
#include "tests/support/simulated_set.hpp"

namespace mgpu::test {

// Devices of these rates; everything fits in memory and is assigned in one piece unless a test
// changes it.
struct Problem {
  Problem(Items items, std::vector<double> rates, Items granularity = 1) {
    request.items = items;
    request.granularity = granularity;
    for (const double rate : rates) {
      DeviceEstimate e;
      e.items_per_s = rate;
      e.fits = e.pipeline = items;
      devices.push_back(e);
      real.push_back({rate, items});
    }
  }
  Problem& launch(Nanos each) {  // both estimated and real
    for (DeviceEstimate& e : devices) e.launch = each;
    for (DrivenDevice& d : real) d.launch = seconds(each);
    return *this;
  }
  Driven run(std::string_view strategy, StrategyParams params = {}, const History& history = {}) {
    request.devices = devices;
    for (std::size_t i = 0; i < devices.size(); ++i) real[i].fits = devices[i].fits;
    const Driven result =
        drive(*make_strategy(strategy, std::move(params)), request, real, {}, history);
    CHECK(result.failure == "");
    return result;
  }
  std::unique_ptr<SliceSource> begin(std::string_view strategy) {
    request.devices = devices;
    return make_strategy(strategy)->begin(request, {});
  }
  double ideal() const {  // seconds of a perfect split without launches
    double rates = 0;
    for (const DrivenDevice& d : real) rates += d.rate / d.slow;
    return static_cast<double>(request.items) / rates;
  }

  std::vector<DeviceEstimate> devices;
  std::vector<DrivenDevice> real;
  PlanRequest request;
};

// Checks the final share of each device. A row has a strategy, the number of devices, the number of
// items, words as in SimulatedSet, and after "=" the shares. Unknown rates count as one.
inline void check_driven_shares(std::string_view table) {
  for (const auto& [given, expected] : pairs_of(table)) {
    CAPTURE(given);
    std::istringstream in(given);
    std::string strategy, words, shares;
    std::size_t devices = 0;
    Items items = 0;
    in >> strategy >> devices >> items;
    std::getline(in, words);
    SimulatedSet set(devices, items, items, words);
    std::vector<DrivenDevice> real;
    for (const DeviceEstimate& e : set.estimates)
      real.push_back({e.items_per_s > 0 ? e.items_per_s : kOnePerNs, e.fits});
    const StrategyChoice choice = parse_strategies(strategy).front();
    const Driven result = drive(*choice.info->make(choice.params), set.asked(), real);
    CHECK(result.failure == "");
    for (const Items share : result.items)
      shares += (shares.empty() ? "" : " ") + std::to_string(share);
    CHECK(shares == expected);
  }
}

}  // namespace mgpu::test
