// What is known of a training when it is over.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace mgpu::pinn {

// From a device, in the layout of the problem's own network; of devices that are not the first to
// own shards only `parameters` and `shards`.
struct Ending {
  std::vector<float> parameters;    // after the last step
  std::vector<float> before;        // before it
  std::vector<float> mean, square;  // Adam's moments
  std::vector<float> gradient;      // of the last step, of all shards
  std::vector<float> losses;        // three a step: of the domain, the boundary, the initial points
  std::vector<std::vector<float>> shards;  // gradients of the device's own, in the last step
  struct Snapshot {
    std::uint32_t steps = 0;  // done then
    std::vector<float> parameters;
  };
  std::vector<Snapshot> snapshots;                   // in order, without the last step's
  std::vector<std::vector<float>> losses_of_shards;  // three each
};

// Its parameters and moments, as a training begins with them.
std::vector<float> state_of(const Ending& ending);

// SHA-256 of the parameters, moments and losses of all.
std::string digest_of(std::span<const Ending> endings);

struct Outcome {
  Ending whole;
  std::vector<std::vector<float>>
      parameters;  // of owners whose differ from others', to be found out
};

}  // namespace mgpu::pinn
