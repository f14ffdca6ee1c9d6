#include "suites/fisher/gram_kernels.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "lib/base/error.hpp"
#include "suites/common/build_option.hpp"

namespace mgpu::fisher {
namespace {

struct Tile {  // tile of kernels/fisher_gram.cl
  unsigned edge, mine_rows, mine_columns, warps_m, warps_n, stages;
  unsigned threads() const { return warps_m * warps_n * 32; }
};
constexpr unsigned rows_a_stage = 8;

// Returns the tiles for a problem, best first. Matrices of fewer than 128 columns take the smallest
// tile that holds them; smaller ones are for devices with small work-groups. 8 x 8 sums per
// work-item are best on an H200: for fp32 and 2^18 x 1024 they reach 41.5 TFLOP/s, and the 16 x 8
// sums that suit products reach 39.7.
std::vector<Tile> tiles_for(const Problem& problem, bool async) {
  std::vector<Tile> all;
  if (problem.dim > 64) all.push_back({128, 8, 8, 2, 4, !async ? 2u : problem.wide ? 3u : 4u});
  if (problem.dim > 32) all.push_back({64, 8, 8, 1, 2, async ? 4u : 2u});
  all.push_back({32, 4, 8, 1, 1, async ? 3u : 2u});
  return all;
}

GramVariant gpu_variant(const Problem& problem, const Tile& tile, bool async) {
  GramVariant made;
  made.file = "fisher_gram.cl";
  made.tile = tile.edge;
  made.threads = tile.threads();
  made.local = Bytes{tile.stages} * rows_a_stage * 2 * tile.edge * problem.element();
  made.to_be_tried = async;
  made.options =
      define("REAL64", problem.wide) + define("B", tile.edge) + define("BK", rows_a_stage) +
      define("TM", tile.mine_rows) + define("TN", tile.mine_columns) + define("WM", tile.warps_m) +
      define("WN", tile.warps_n) + define("STAGES", tile.stages) + define("ASYNC", async);
  return made;
}

GramVariant cpu_variant(const DeviceTraits& device, const Problem& problem) {
  const unsigned lanes = std::clamp(device.float_width / (problem.wide ? 2 : 1), 4u, 16u);
  GramVariant made;
  made.file = "fisher_gram_cpu.cl";
  made.tile = 64;
  // Of 32 vector registers, 16 are sums, 2 hold columns and 1 holds rows; of 16, 8 are sums.
  made.options = define("REAL64", problem.wide) + define("W", lanes) +
                 define("MR", device.float_width >= 16 ? 8 : 4) + define("B", made.tile) +
                 define("BK", 64);
  return made;
}

// Returns whether a kernel computes the bits of the chain of fma on the host. The matrix is ragged
// on both sides and larger than one tile; of its two blocks the second is ragged.
template <class Real>
bool shows_the_right_bits(DeviceResources& device, const GramVariant& variant, Kernel& kernel) {
  const std::uint32_t columns = variant.tile + 5, stride = (columns + 3) / 4 * 4, block_rows = 24,
                      rows = 43, tiles = 3;
  const std::size_t tile_size = std::size_t{variant.tile} * variant.tile;
  std::vector<Real> s(rows * stride), out(2 * tiles * tile_size, Real{-1});
  std::uint32_t state = 12345;
  for (Real& x : s) {
    // Numerical Recipes' quick generator; any mixed signs and exponents will do.
    state = state * 1664525u + 1013904223u;
    x = static_cast<Real>(static_cast<std::int32_t>(state)) *
        static_cast<Real>(std::ldexp(1.0, -20 - static_cast<int>(state >> 20 & 31)));
  }
  const auto ds = device.allocate(s.size() * sizeof(Real)),
             dout = device.allocate(out.size() * sizeof(Real));
  const auto ran = device.try_out([&](Stream& stream) {
    stream.upload(*ds, 0, std::as_bytes(std::span(s)));
    stream.launch(
        kernel, {{std::size_t{tiles} * variant.threads, 2, 1}, {variant.threads, 1, 1}},
        {ds.get(), stride, std::uint64_t{0}, std::uint64_t{rows}, block_rows, columns, dout.get()});
    stream.download(*dout, 0, std::as_writable_bytes(std::span(out)));
  });
  if (!ran) return false;
  for (std::uint32_t block = 0; block < 2; ++block) {
    for (std::uint32_t i = 0; i < columns; ++i) {
      for (std::uint32_t j = i; j < columns; ++j) {
        Real sum = 0;
        for (std::uint32_t k = block * block_rows; k < std::min(rows, (block + 1) * block_rows);
             ++k)
          sum = std::fma(s[k * stride + i], s[k * stride + j], sum);
        const std::uint32_t ti = i / variant.tile, tj = j / variant.tile,
                            tile = block * tiles + tj * (tj + 1) / 2 + ti;
        const Real got = out[tile * tile_size + i % variant.tile * variant.tile + j % variant.tile];
        if (std::memcmp(&sum, &got, sizeof sum) != 0) return false;
      }
    }
  }
  return true;
}

}  // namespace

std::uint64_t stride_of(const Problem& problem, std::uint64_t columns) {
  const std::uint64_t vector = 16 / problem.element();
  return round_up(columns, vector);
}

std::vector<GramVariant> gram_variants(const DeviceTraits& device, const Problem& problem) {
  std::vector<GramVariant> all;
  if (problem.wide && !device.fp64) return all;
  if (device.cpu) {
    all.push_back(cpu_variant(device, problem));
    return all;
  }
  if (device.nvidia) all.push_back(gpu_variant(problem, tiles_for(problem, true).front(), true));
  for (const Tile& tile : tiles_for(problem, false))
    all.push_back(gpu_variant(problem, tile, false));
  std::erase_if(all, [&](const GramVariant& variant) {
    return variant.threads > device.max_work_group || variant.local > device.local_memory;
  });
  return all;
}

std::unique_ptr<Kernel> exact_kernel(DeviceResources& device, const char* file, const char* entry,
                                     const std::string& options) {
  try {
    return device.kernel(file, entry, options + " -cl-fp32-correctly-rounded-divide-sqrt");
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::unsupported) throw;
    return device.kernel(file, entry,
                         options);  // a device without such a division rejects the option
  }
}

GramKernels make_gram_kernels(DeviceResources& device, const Problem& problem) {
  GramKernels made;
  std::string why = "no kernel is made for it";
  for (const GramVariant& variant : gram_variants(device.traits(), problem)) {
    try {
      made.gram = device.kernel(variant.file, "gram", variant.options);
      const bool works = !variant.to_be_tried ||
                         (problem.wide ? shows_the_right_bits<double>(device, variant, *made.gram)
                                       : shows_the_right_bits<float>(device, variant, *made.gram));
      if (works) {
        made.variant = variant;
        break;
      }
      why = "its kernel gives wrong bits on this device";
    } catch (const Error& error) {
      const bool of_kernel = error.kind() == ErrorKind::unsupported ||
                             (variant.to_be_tried && error.kind() == ErrorKind::device);
      if (!of_kernel) throw;
      why = error.what();
    }
  }
  if (made.variant.tile == 0) throw Error(ErrorKind::unsupported, why);
  made.soft = !device.traits().fp64;
  made.combine_lanes = device.traits().cpu && !made.soft ? 8 : 1;
  const std::string options = define("REAL64", problem.wide) + define("B", made.variant.tile) +
                              define("LANES", made.combine_lanes) +
                              (made.soft ? " -DSOFT_FP64" : "");
  made.combine_blocks = device.kernel("fisher_combine.cl", "combine_blocks", options);
  made.combine_nodes = device.kernel("fisher_combine.cl", "combine_nodes", options);
  made.divide = device.kernel("fisher_combine.cl", "divide", options);
  if (problem.model == Model::scores) return made;
  const std::string model = define("REAL64", problem.wide) + define("LANES", 1) +
                            define("CLASSES", problem.classes) + define("WIDTH", problem.width);
  made.probabilities = exact_kernel(device, "fisher_scores.cl", "probabilities", model);
  made.make_scores = exact_kernel(device, "fisher_scores.cl", "make_scores", model);
  return made;
}

}  // namespace mgpu::fisher
