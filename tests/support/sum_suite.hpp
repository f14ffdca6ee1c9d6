// A suite of SumWorkload, and fake devices that compute it at 1e6 items/s.
#pragma once

#include <memory>
#include <string>

#include "tests/support/fake_backend.hpp"
#include "tests/support/sum_workload.hpp"

namespace mgpu::test {

inline SuiteInfo sum_suite(bool has_cpu_size) {
  SuiteInfo made;
  made.name = "sum";
  made.size_name = "items";
  made.default_size = made.quick_size = 1 << 12;
  if (has_cpu_size) made.full_size_cpu = 1 << 10;
  made.make = [](const SuiteParams& params) -> std::unique_ptr<Workload> {
    return std::make_unique<SumWorkload>(params.size);
  };
  return made;
}

inline FakeDevice sum_device(const std::string& id, DeviceType type) {
  FakeDevice made;
  made.facts.id = id;
  made.facts.type = type;
  made.facts.global_memory = made.facts.max_allocation = Bytes{1} << 30;
  made.ops_per_s = 1e6;
  made.launch = std::chrono::microseconds(24);
  return made;
}

}  // namespace mgpu::test
