// What a Fisher problem asks of a device at least, as Workload::demand defines it. Pure.
#pragma once

#include "suites/fisher/problem.hpp"

namespace mgpu::fisher {

// All of the problem. Of CPUs only where what counts is no particular instruction.
Demand demand_of(const Problem& problem, const DeviceTraits& device);

}  // namespace mgpu::fisher
