// The table of kernels and tiles, in order of preference if nothing was tuned; `calibrate --tune`
// measures all of them.
#include "suites/tropical/kernels.hpp"

#include <algorithm>

#include "suites/common/build_option.hpp"

namespace mgpu::tropical {
namespace {

std::string common_options(const Problem& problem, Purpose purpose) {
  return define("REAL64", 0) + define("INT32", problem.integers) +
         define("MAXIMUM", problem.maximum) + define("PATHS", problem.paths) +
         define("UPDATE", purpose.update) + define("ORDERED", purpose.ordered && !problem.integers);
}

struct PackedTile {
  RegisterTile tile;
  unsigned most_registers = 0;  // limit per work-item; 0: the compiler chooses
};

// Adds kernels/tropical_packed.cl. Two work-groups of 256 share a multiprocessor only if their
// work-items have at most 128 registers. Unlimited, ptxas takes 106 to 134; with the limit it
// spills none (CUDA 13, sm_90). 16 x 8 sums need 247 to 255. Measured on an H200 (8192 x 8192 x
// 8192, fp32, nothing negative): 34.4, 35.5, 37.9 and 40.4 ms for the first four without paths.
// With paths, each sum in registers also has an index, so that 8 x 8 is the largest that fits.
void add_packed(const Problem& problem, const Geometry& geometry, Purpose purpose,
                std::vector<Variant>& all) {
  if (problem.columns % 4 != 0) return;  // rows of B and C are copied in units of 16 bytes
  const std::vector<PackedTile> plain{
      {{128, 128, 16, 8, 1, 4, 4, 8}},      {{64, 128, 8, 8, 1, 4, 4, 8}},
      {{128, 128, 8, 8, 2, 4, 2, 16}, 128}, {{128, 128, 8, 8, 2, 4, 4, 8}, 128},
      {{64, 64, 8, 8, 1, 2, 4, 8}},         {{32, 32, 4, 8, 1, 1, 3, 8}}};
  const std::vector<PackedTile> with_places{{{64, 128, 8, 8, 1, 4, 4, 8}},
                                            {{128, 128, 8, 8, 2, 4, 4, 8}},
                                            {{64, 64, 8, 8, 1, 2, 4, 8}},
                                            {{32, 32, 4, 8, 1, 1, 3, 8}}};
  for (const auto& [tile, most_registers] : problem.paths ? with_places : plain) {
    if (!divides(tile.rows, tile.columns, geometry)) continue;
    Variant made = variant_of(tile, "packed");
    made.file = "tropical_packed.cl";
    made.to_be_tried = made.packs_in_blocks = true;
    made.panel_rows = tile.rows;
    made.panel_inner = tile.inner;
    made.local = Bytes{tile.stages} * tile.inner * (tile.rows + tile.columns) * 4;
    made.options += common_options(problem, purpose);
    if (most_registers > 0)
      made.options += " -cl-nv-maxrregcount=" + std::to_string(most_registers);
    all.push_back(std::move(made));
  }
}

// Adds kernels/tropical.cl.
void add_portable(const Problem& problem, const Geometry& geometry, Purpose purpose,
                  std::vector<Variant>& all) {
  for (const RegisterTile& tile :
       {RegisterTile{64, 64, 8, 8, 1, 2, 2}, RegisterTile{32, 32, 4, 8, 1, 1, 2}}) {
    if (!divides(tile.rows, tile.columns, geometry)) continue;
    Variant made = variant_of(tile, "portable");
    made.file = "tropical.cl";
    if (purpose.update) {  // A is a copy, since the product updates its source
      made.panel_rows = 64;
      made.packs_in_blocks = true;
    }
    made.local = Bytes{tile.stages} * tile.inner * (tile.rows + 4 + tile.columns) * 4;
    made.options += define("VB", vector_of(problem.columns, 4)) + define("ASYNC", 0) +
                    common_options(problem, purpose);
    all.push_back(std::move(made));
  }
}

// Adds kernels/tropical_cpu.cl.
void add_for_cpus(const DeviceTraits& device, const Problem& problem, const Geometry& geometry,
                  Purpose purpose, std::vector<Variant>& all) {
  const unsigned lanes = std::clamp(device.float_width, 4u, 16u);
  // Sums, and indices with paths, fill 16 or 32 registers.
  const unsigned rows = device.float_width >= 16 && !problem.paths ? 8 : 4;
  for (const CpuTile& blocks : {CpuTile{rows, lanes, 128, 256}, CpuTile{rows, lanes, 64, 256},
                                CpuTile{12 - rows, lanes, 128, 256}}) {
    Variant made = variant_of(blocks, geometry);
    made.file = "tropical_cpu.cl";
    made.options += common_options(problem, purpose);
    all.push_back(std::move(made));
  }
}

}  // namespace

std::vector<Variant> variants(const DeviceTraits& device, const Problem& problem,
                              const Geometry& geometry, Purpose purpose,
                              const std::string& preferred) {
  std::vector<Variant> all;
  if (device.cpu) {
    add_for_cpus(device, problem, geometry, purpose, all);
  } else {
    if (device.nvidia) add_packed(problem, geometry, purpose, all);
    add_portable(problem, geometry, purpose, all);
  }
  const auto named = [&](const Variant& variant) {
    if (problem.kernel == "auto") return true;
    return problem.kernel == "portable" ? variant.kind != "packed"
                                        : variant.name() == problem.kernel;
  };
  return usable(std::move(all), device, named, preferred);
}

Capacity no_kernel(const DeviceTraits& device, const Problem& problem,
                   const std::vector<Variant>& all) {
  Capacity none;
  none.reason = all.empty() ? "kernel \"" + problem.kernel + "\" does not compute this size"
                            : product::why_none_suits(device, all);
  return none;
}

bool is_a_variant(const DeviceTraits& device, const Problem& problem, const std::string& name) {
  // Sizes with items of 32, 64, and 128 or 256.
  constexpr std::uint64_t sizes[] = {256, 1024, 16384};
  for (const std::uint64_t size : sizes) {
    for (const Axis axis : {Axis::rows, Axis::cols, Axis::tiles}) {
      Problem other = problem;
      other.rows = other.columns = other.inner = size;
      other.axis = axis;
      const auto all = variants(device, other, Geometry::of(size, size, axis), {});
      if (std::any_of(all.begin(), all.end(),
                      [&](const Variant& variant) { return variant.name() == name; }))
        return true;
    }
  }
  return false;
}

}  // namespace mgpu::tropical
