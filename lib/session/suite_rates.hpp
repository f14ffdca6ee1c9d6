// What a suite's kernels reach on a device once it is full: a problem of the suite's usual size, executed on it alone. A short
// probe of a small problem sees little but latency; this says what its work costs beyond that.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lib/exec/executor.hpp"
#include "lib/session/session.hpp"

namespace mgpu {

struct SessionDevice;

// Operations (as ItemCost counts them) per second, by suite with its options and by device id.
class SuiteRates {
 public:
  // 0: not known.
  double find(const Problem& problem, const std::string& device) const;
  void set(const Problem& problem, const std::string& device, double ops_per_s);

 private:
  std::map<std::pair<std::string, std::string>, double> rates_;
};

// Fills in what is missing for the devices that need it: GPUs. CPUs are full at any size, and quick changes of their clocks make an
// old figure worse than none. Devices that fail are left without a rate. Blocks for about a second per suite at first.
void measure_suite_rates(Backend& backend, Executor& executor, const Problem& problem, std::span<SessionDevice> devices,
                         std::optional<Nanos> timeout, SuiteRates& rates);

}  // namespace mgpu
