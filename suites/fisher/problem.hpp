// Parameters of a problem in each of the three regimes, and its division into blocks and items.
// Pure.
#pragma once

#include "lib/workload/workload.hpp"
#include "suites/fisher/families.hpp"

namespace mgpu::fisher {

enum class Regime {
  empirical,  // F = (1/n) sum of s s^T over n score vectors: one matrix
  models,     // at each of many points, F = (1/S) sum of s s^T over S scores drawn there
  closed      // at each of many points, F in closed form
};
enum class Model { scores, logistic, softmax, gaussian };

struct Problem {
  Regime regime = Regime::empirical;
  Model model = Model::scores;
  Family family = Family::normal;
  bool wide = false;         // float64 instead of float32
  bool integers = false;     // seeded scores are small integers
  bool portable = false;     // plain OpenCL C, the same bits on every device
  std::uint64_t points = 0;  // score vectors, rows of a design matrix, or points of a manifold
  std::uint64_t width = 0;   // numbers per point in the input
  std::uint64_t classes = 1;
  // Scores drawn at each point, or score vectors per row of a design matrix.
  std::uint64_t scores = 1;
  std::uint64_t dim = 0;  // F is dim x dim
  std::uint64_t seed = 0;

  Bytes element() const { return wide ? 8 : 4; }
  std::uint64_t triangle() const {
    return dim * (dim + 1) / 2;
  }  // elements of F on and above its diagonal
  Bytes input_bytes() const { return points * width * element(); }
  Bytes params_bytes() const {
    return model == Model::scores ? 0 : classes * width * element();
  }  // empirical: size of the model's parameters
};

constexpr std::uint64_t most_points = std::uint64_t{1} << 40, most_dim = 16384,
                        most_models_dim = 128, most_closed_dim = 1024,
                        most_scores = std::uint64_t{1} << 20;
// Larger slices gain nothing end to end.
constexpr Bytes largest_slot = Bytes{2} << 30;
constexpr Bytes least_buffer = 64;  // least size of a buffer, so that no buffer is empty

// Returns the problem of these parameters. Throws Error(usage) for an option or size that is not
// possible, Error(input) for files that do not match.
Problem problem_of(const SuiteParams& params);

// Division of an empirical problem: rows are in blocks, each summed in one chain, and blocks are
// combined along the fixed tree of suites/common/block_tree.hpp. An item is an aligned subtree of
// 2^height blocks. It depends on the problem alone. Without rows there is one item of no blocks.
struct Blocks {
  std::uint64_t rows = 0;  // rows of the input
  std::uint64_t block_rows = 0;
  std::uint64_t blocks = 0;
  unsigned height = 0;  // at most most_height
  Items items = 0;

  static constexpr unsigned most_height = 4;
  static Blocks of(const Problem& problem);
  std::uint64_t first_block(Items item) const {
    return std::min<std::uint64_t>(item << height, blocks);
  }
  std::uint64_t first_row(Items item) const {
    return std::min(first_block(item) * block_rows, rows);
  }
};

// Returns how many tiles of F's upper half a kernel with tiles of edge `tile` computes.
std::uint64_t tiles_of(std::uint64_t dim, std::uint64_t tile);

}  // namespace mgpu::fisher
