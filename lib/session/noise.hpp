// The noise floor of a suite on a set of devices: how far apart medians of the very same work come
// out (an A/A comparison). A change below it is not a change, whatever a test of the samples says.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/exec/backend.hpp"
#include "lib/workload/problem.hpp"

namespace mgpu {

// 95 % of all pairs of medians of one kind are closer than this, as a share of the lower. `kinds`:
// for each, the medians of the same work done again. None with fewer than 4 medians of a kind: too
// little to say.
std::optional<double> noise_of(const std::vector<std::vector<Nanos>>& kinds);

struct Noise {
  double share = 0;
  std::optional<std::string>
      load;  // how much other programs used meanwhile, where that disturbs: see other_load()
};

// The problem is measured 8 times anew on the same inputs, programs and buffers made each time, 5
// samples each: each device alone, and equal shares on all. Fewer times when that takes more than
// 20 s. None as of noise_of(). Blocks. Throws Error(device).
std::optional<Noise> measure_noise(Backend& backend, const Problem& problem,
                                   std::span<const Device> devices);

// Why this is not a figure of the devices and the work, but of a busy machine: "medians of the same
// work lay 118 % apart, ...". None when it can be cached.
std::optional<std::string> why_not_kept(const Noise& noise);

}  // namespace mgpu
