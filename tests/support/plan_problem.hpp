// A problem and devices for tests of strategies, driven by plan_driver.hpp.
#pragma once

#include <doctest/doctest.h>

#include "tests/support/plan_driver.hpp"

namespace mgpu::test {

// So many alike devices, of 1 item/ns each, which hold all items and are handed them in pieces.
inline std::vector<DeviceEstimate> alike_devices(std::size_t count, Items items, Items piece) {
  DeviceEstimate device;
  device.items_per_s = 1e9;
  device.score = 50;
  device.fits = items;
  device.pipeline = piece;
  return std::vector<DeviceEstimate>(count, device);
}

// Devices of these rates; everything fits and is handed out in one piece unless a test changes it.
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
  Problem& launch(Nanos each) {  // estimated and real
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
  double ideal() const {  // seconds, of a perfect split without launches
    double rates = 0;
    for (const DrivenDevice& d : real) rates += d.rate / d.slow;
    return static_cast<double>(request.items) / rates;
  }

  std::vector<DeviceEstimate> devices;
  std::vector<DrivenDevice> real;
  PlanRequest request;
};

}  // namespace mgpu::test
