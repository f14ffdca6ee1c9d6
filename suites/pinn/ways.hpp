// The kernel variants that compute gradients on a device, and their resources: a shard per
// work-group in local memory, or all points layer by layer with tiled products.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "lib/workload/stream.hpp"
#include "suites/pinn/problem.hpp"

namespace mgpu::pinn {

struct Way {
  std::string name;  // "shards by 256", "layers in 128x128x16 by 16x8, weights in 64x128"
  bool by_layer = false;
  unsigned threads = 1, rows = 0, columns = 0;  // size of a work-group and of its tile
  Bytes local = 0;                              // by layer: local memory of a work-group
  std::string options;                          // build options of the kernels for jets or products
  unsigned weight_threads = 0, weight_rows = 0, weight_columns = 0;
  std::string weight_options;  // by layer: build options of the weights' gradients
  std::uint32_t tile = 0;      // by shard: points at once
};

// Returns the variants, best first. If there is none, `why` says in one line what the device lacks.
std::vector<Way> ways(const DeviceTraits& device, const Problem& problem,
                      std::string* why = nullptr);

// Returns the neurons per layer on a device, rounded up to the tiles of large networks. Added
// neurons have weights 0.
std::uint32_t wide(const Problem& problem);

// Returns the number of places for points that `shards` shards need on a device.
std::uint64_t all_places(const Problem& problem, const Way& way, std::uint64_t shards);

// Returns the size of the jets, or of the adjoints, in device memory for `shards` shards.
Bytes jet_bytes(const Problem& problem, const Way& way, std::uint64_t shards);

// Return -D options: of kernels/pinn_math.cl; of pinn_residual.cl and pinn_points.cl.
std::string jet_options(const Problem& problem);
std::string equation_options(const Problem& problem);

}  // namespace mgpu::pinn
