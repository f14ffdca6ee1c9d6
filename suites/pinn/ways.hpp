// The kernel variants that compute gradients on a device, and what each takes: a shard by a
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
  unsigned threads = 1, rows = 0, columns = 0;  // of a work-group, and of its tile
  std::string options;                          // of the kernels that compute jets or products
  unsigned weight_threads = 0, weight_rows = 0, weight_columns = 0;
  std::string weight_options;  // by layer: of the weights' gradients
  std::uint32_t tile = 0;      // by shard: points at once
};

// Best first; none: `why` then says in one line what the device lacks.
std::vector<Way> ways(const DeviceTraits& device, const Problem& problem,
                      std::string* why = nullptr);

// Neurons of a layer on a device: as many as tiles want, where networks are large. The others have
// no weights.
std::uint32_t wide(const Problem& problem);

// Places for points that so many shards have on a device.
std::uint64_t all_places(const Problem& problem, const Way& way, std::uint64_t shards);

// Of jets and adjoints in device memory, for so many shards.
Bytes jet_bytes(const Problem& problem, const Way& way, std::uint64_t shards);

// -D of kernels/pinn_math.cl; of pinn_residual.cl and pinn_points.cl.
std::string jet_options(const Problem& problem);
std::string equation_options(const Problem& problem);

}  // namespace mgpu::pinn
