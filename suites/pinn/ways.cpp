#include "suites/pinn/ways.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "suites/common/build_option.hpp"
#include "suites/common/group_limits.hpp"
#include "suites/pinn/network.hpp"

namespace mgpu::pinn {
namespace {

constexpr std::uint32_t block = 32;       // points per block of kernels/pinn_math.cl
constexpr unsigned group_of_edges = 256;  // work-items of a group of kernels/pinn_edges.cl
// NVIDIA GPUs give a work-group 48 KiB of local memory.
constexpr Bytes room_for_jets = 44 << 10;

Bytes jets_in_local(const Problem& problem, std::uint32_t points) {
  // Sizes of a jet, and of a point besides its jets: coordinates, the output's adjoint, an error.
  constexpr Bytes jet = 16, point = 36;
  return Bytes{problem.layers} * wide(problem) * (points | 1) * jet + points * point;
}

// Returns the points per pass that local memory has room for: all of a shard, or whole blocks.
std::uint32_t tile_of(const Problem& problem, Bytes memory) {
  const std::uint32_t all = places_of_shard(problem);
  if (jets_in_local(problem, all) <= memory) return all;
  std::uint32_t tile = all / block * block;
  while (tile > 0 && jets_in_local(problem, tile) > memory) tile -= block;
  return tile;
}

void add_shards(const DeviceTraits& device, const Problem& problem, std::vector<Way>& all) {
  const Bytes weights = Network{problem.layers, wide(problem)}.count() * sizeof(float);
  const Bytes memory =
      device.cpu ? std::min<Bytes>(device.local_memory, 256 << 10) : device.local_memory;
  const bool local_weights =
      !device.cpu && weights < memory && tile_of(problem, memory - weights) > 0;
  const std::uint32_t tile = tile_of(problem, memory - (local_weights ? weights : 0));
  // The code of longer unrolled sums exceeds instruction caches.
  constexpr std::uint32_t unrolled = 64;
  if (tile == 0 || (!device.cpu && wide(problem) > unrolled)) return;
  std::vector<unsigned> sizes{256, 512, 128};
  if (device.cpu) sizes = {1};
  std::erase_if(sizes, [&](unsigned lanes) { return lanes > device.max_work_group; });
  for (unsigned lanes = 64; sizes.empty() && lanes > 0; lanes /= 2)
    if (lanes <= device.max_work_group) sizes = {lanes};
  for (const unsigned lanes : sizes) {
    Way way;
    way.name = fmt::format("shards by {}", lanes);
    way.threads = lanes;
    way.tile = tile;
    way.options = define("LANES", lanes) + define("TILE", tile) +
                  define("WEIGHTS_LOCAL", local_weights) + (device.cpu ? " -DROLLED" : "");
    if (device.nvidia) way.options += " -DNVIDIA";
    all.push_back(std::move(way));
  }
}

struct Tile {
  unsigned mine_rows, mine_columns, groups_m, groups_n, stages, inner;
  unsigned rows() const { return 8 * mine_rows * groups_m; }
  unsigned columns() const { return 4 * mine_columns * groups_n; }
  unsigned threads() const { return 32 * groups_m * groups_n; }
  Bytes local(unsigned stages_used) const {
    return Bytes{stages_used} * inner * (rows() + columns()) * sizeof(float);
  }
  std::string defines() const {
    return define("BM", rows()) + define("BN", columns()) + define("TM", mine_rows) +
           define("TN", mine_columns) + define("WM", groups_m) + define("WN", groups_n);
  }
};

// Tiles of the layers' products and of the weights' gradients.
struct Tiles {
  Tile product, weights;
  unsigned weight_registers = 0;  // limit per work-item; 0: the compiler chooses
};

std::vector<Tiles> tiles_of(const DeviceTraits& device, std::uint32_t width) {
  if (device.cpu) return {{{4, 4, 1, 1, 2, 8}, {4, 4, 1, 1, 2, 8}}};
  std::vector<Tiles> all;
  const auto add = [&](const Tile& both) { all.push_back({both, both}); };
  if (width % 128 == 0) {
    constexpr Tile high{16, 8, 1, 4, 2, 16}, square{8, 8, 2, 4, 2, 16}, low{8, 8, 1, 4, 2, 16};
    // 16 x 8 sums per work-item, as in suites/matrix, use each value read for more multiply-adds,
    // if there are enough registers. Gradients have smaller tiles, so that a half or a quarter of
    // the shards still fills a GPU.
    if (device.nvidia) all.push_back({high, low, 168});
    if (device.nvidia) add(high);
    all.push_back({square, low});
    add(square);
    if (device.nvidia) add({16, 8, 1, 4, 4, 8});
  }
  if (width % 64 == 0) add({8, 8, 1, 2, 2, 16});
  add({4, 8, 1, 1, 2, 16});
  return all;
}

// Adds the variants by layer. On CPUs they are only for comparison.
void add_layers(const DeviceTraits& device, const Problem& problem, std::vector<Way>& all) {
  const std::uint32_t width = wide(problem);
  if (width % 32 != 0) return;
  const std::string both = define("ASYNC", device.nvidia) + (device.cpu ? " -DROLLED" : "");
  for (const auto& [tile, weights, registers] : tiles_of(device, width)) {
    const unsigned stages = device.nvidia ? tile.stages : 2, weight_stages = device.nvidia ? 3 : 2;
    Way way;
    way.by_layer = true;
    way.local = std::max(tile.local(stages), weights.local(weight_stages));
    if (std::max({tile.threads(), weights.threads(), group_of_edges}) > device.max_work_group ||
        (!device.cpu && way.local > device.local_memory))
      continue;
    way.name = fmt::format("layers in {}x{}x{} by {}x{}", tile.rows(), tile.columns(), tile.inner,
                           tile.mine_rows, tile.mine_columns);
    if (weights.rows() != tile.rows())
      way.name += fmt::format(", weights in {}x{}", weights.rows(), weights.columns());
    way.threads = tile.threads();
    way.rows = tile.rows();
    way.columns = tile.columns();
    way.options = both + tile.defines() + define("STAGES", stages) + define("BK", tile.inner);
    way.weight_threads = weights.threads();
    way.weight_rows = weights.rows();
    way.weight_columns = weights.columns();
    way.weight_options = both + weights.defines() + define("STAGES", weight_stages);
    if (registers > 0) way.weight_options += fmt::format(" -cl-nv-maxrregcount={}", registers);
    all.push_back(std::move(way));
  }
}

}  // namespace

std::uint32_t wide(const Problem& problem) {
  const std::uint32_t w = problem.width;
  const auto up_to = [&](std::uint32_t to) { return round_up(w, to); };
  if (w > 64) return up_to(128);
  if (w > 32) return 64;
  // Networks that do not fit local memory are computed layer by layer, in tiles.
  const bool holds =
      Bytes{problem.layers} * w * (std::min(places_of_shard(problem), block) | 1) * 16 <=
      room_for_jets;
  return problem.compute == Compute::layers || !holds ? 32 : w;
}

std::vector<Way> ways(const DeviceTraits& device, const Problem& problem, std::string* why) {
  std::vector<Way> all;
  // Local memory is faster for small networks on GPUs, and for all networks on CPUs.
  const bool small = device.cpu || wide(problem) <= 32;
  if (problem.compute != Compute::layers && small) add_shards(device, problem, all);
  if (problem.compute != Compute::shards) add_layers(device, problem, all);
  if (problem.compute != Compute::layers && !small) add_shards(device, problem, all);
  if (device.cpu && problem.compute == Compute::chosen && !all.empty()) all.resize(1);
  if (!all.empty() || why == nullptr) return all;
  const std::vector<Way> unlimited = ways(without_limits(device), problem);
  const auto by_layer =
      std::find_if(unlimited.begin(), unlimited.end(), [](const Way& way) { return way.by_layer; });
  if (unlimited.empty()) {
    *why = "--compute shards is not for networks this wide on GPUs; expected: auto, layers";
    return all;
  }
  if (by_layer == unlimited.end()) {
    *why = fmt::format("its {} bytes of local memory cannot hold {} points of a network of {} x {}",
                       device.local_memory, std::min(places_of_shard(problem), block),
                       problem.layers, problem.width);
    return all;
  }
  std::vector<GroupDemand> demands;
  for (const Way& way : unlimited)
    if (way.by_layer)
      demands.push_back({std::max({way.threads, way.weight_threads, group_of_edges}), way.local});
  *why = why_none_suits(device, demands);
  return all;
}

std::uint64_t all_places(const Problem& problem, const Way& way, std::uint64_t shards) {
  const std::uint64_t all = shards * places_of_shard(problem);
  const std::uint64_t each = std::max<std::uint64_t>(block, way.rows / 4);
  return way.by_layer ? round_up(all, each) : all;
}

Bytes jet_bytes(const Problem& problem, const Way& way, std::uint64_t shards) {
  return way.by_layer
             ? Bytes{problem.layers} * wide(problem) * all_places(problem, way, shards) * 16
             : 0;
}

std::string jet_options(const Problem& problem) {
  return define("LAPLACIAN", problem.in_time() ? 0 : 1);
}

std::string equation_options(const Problem& problem) {
  const int kind = problem.equation == Equation::burgers      ? 0
                   : problem.equation == Equation::allen_cahn ? 1
                                                              : 2;
  const Range second = problem.second();
  return jet_options(problem) + fmt::format(
                                    " -DPROBLEM={} -DHARD={} -DWAVE_IS_0={} -DDIFFUSION={:#.9g}f "
                                    "-DWAVE={:#.9g}f -DSOURCE={:#.9g}f -DLOW1={:#.9g}f "
                                    "-DHIGH1={:#.9g}f",
                                    kind, problem.hard ? 1 : 0, problem.wave() == 0 ? 1 : 0,
                                    problem.diffusion(), problem.wave(), problem.source(),
                                    second.low, second.high);
}

}  // namespace mgpu::pinn
