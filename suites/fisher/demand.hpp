// What a Fisher problem asks of a device at least, as Workload::demand defines it. Pure.
#pragma once

#include "suites/fisher/problem.hpp"

namespace mgpu::fisher {

// All of the problem. Of CPUs only where what counts is not a particular instruction.
Demand demand_of(const Problem& problem, const DeviceTraits& device);

// What a point of the regimes `models` and `closed` takes, in a measure that only compares problems
// of one model or family: a rate measured on matrices of one dimension then tells that of another.
double work_of_point(const Problem& problem);

}  // namespace mgpu::fisher
