// Final state of a training.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace mgpu::pinn {

// Holds what roundings to bf16 lost at each node of the tree (kernels/pinn_compressed.cl), by
// number of the node and parameter: before and after the last step.
struct Residuals {
  std::vector<std::vector<float>> before, after;
};

// Final state from a device, in the layout of the problem's own network. Devices other than the
// owner of the first shards return only `parameters` and `shards`.
struct Ending {
  std::vector<float> parameters;           // parameters after the last step
  std::vector<float> before;               // parameters before the last step
  std::vector<float> mean, square;         // Adam's moments
  std::vector<float> gradient;             // gradient of all shards in the last step
  std::vector<float> losses;               // per step: domain, boundary, initial points
  std::vector<std::vector<float>> shards;  // gradients of the device's own shards in the last step
  Residuals residuals;                     // only with --gradients bf16
  struct Snapshot {
    std::uint32_t steps = 0;  // steps before the snapshot
    std::vector<float> parameters;
  };
  std::vector<Snapshot> snapshots;                   // in order; without the final state
  std::vector<std::vector<float>> losses_of_shards;  // three per shard
};

// Returns the parameters and moments in the format of an initial state.
std::vector<float> state_of(const Ending& ending);

// Returns the SHA-256 of the parameters, moments and losses of all.
std::string digest_of(std::span<const Ending> endings);

struct Outcome {
  Ending whole;
  // Parameters of all owners, to find those that differ.
  std::vector<std::vector<float>> parameters;
};

}  // namespace mgpu::pinn
