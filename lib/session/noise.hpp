// The noise floor of a suite on a set of devices: the spread of medians of the very same work (an
// A/A comparison). A smaller change is no change, whatever a test of the samples says.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/exec/backend.hpp"
#include "lib/workload/problem.hpp"

namespace mgpu {

// Returns the difference, relative to the lower, that 95 % of all pairs of medians of one kind do
// not exceed. `kinds`: for each, the medians of the same work, repeated. None if every kind has
// fewer than 4 medians, which say too little.
std::optional<double> noise_of(const std::vector<std::vector<Nanos>>& kinds);

struct Noise {
  double share = 0;
  // Load by other programs meanwhile, if it disturbs: see other_load().
  std::optional<std::string> load;
};

// Measures the problem 8 times on the same inputs, with programs and buffers made again each time,
// 5 samples each: each device alone, and equal shares on all. Measures fewer times if that takes
// more than 20 s. None as in noise_of(). Blocks. Throws Error(device).
std::optional<Noise> measure_noise(Backend& backend, const Problem& problem,
                                   std::span<const Device> devices);

// Returns why this figure is that of a busy machine, and not of the devices and the work: "repeated
// medians differed by 118 % ...". None if it can be cached.
std::optional<std::string> why_not_kept(const Noise& noise);

}  // namespace mgpu
