#include "suites/fisher/problem.hpp"

#include <algorithm>

#include "lib/base/error.hpp"
#include "lib/base/quote.hpp"
#include "lib/workload/npy.hpp"

namespace mgpu::fisher {
namespace {

Error usage(const std::string& what) { return Error(ErrorKind::usage, what); }

// Returns the value of an option of kind count, or `otherwise` if it is "auto".
std::uint64_t count(const SuiteParams& params, const char* name, std::uint64_t otherwise) {
  const std::string& text = params.options.at(name);
  return text == "auto" ? otherwise : std::stoull(text);
}

void limit(const std::string& option, std::uint64_t value, std::uint64_t least,
           std::uint64_t most) {
  if (value >= least && value <= most) return;
  throw usage("--" + option + ": " + in_quotes(std::to_string(value)) +
              "; expected: " + std::to_string(least) + " to " + std::to_string(most));
}

void choose_model(const SuiteParams& params, Problem& problem) {
  const std::string& name = params.options.at("model");
  const bool models = problem.regime == Regime::models;
  if (problem.regime == Regime::closed || name == "auto") {
    problem.model = models ? Model::softmax : Model::scores;
    return;
  }
  problem.model = name == "scores"     ? Model::scores
                  : name == "logistic" ? Model::logistic
                  : name == "softmax"  ? Model::softmax
                                       : Model::gaussian;
  if (problem.model == (models ? Model::scores : Model::gaussian)) {
    throw usage(
        "--model: " + in_quotes(name) + " is not for --regime " + params.options.at("regime") +
        "; expected: " + (models ? "softmax, logistic, gaussian" : "scores, logistic, softmax"));
  }
}

void check_type(const SuiteParams& params, const std::string& file, const NpyShape& shape,
                Bytes element) {
  if (shape.element == element) return;
  throw Error(ErrorKind::input, file + " holds " + (shape.element == 8 ? "float64" : "float32") +
                                    "; expected with --precision " +
                                    params.options.at("precision") + ": " +
                                    (element == 8 ? "float64" : "float32"));
}

// Sets the number of points, and of numbers per point, from the file. --dim may only confirm it.
void sizes_of_file(const SuiteParams& params, Problem& problem) {
  const NpyShape shape = read_npy_shape(*params.input);
  check_type(params, "--input: " + params.input->string(), shape, problem.element());
  problem.points = shape.rows;
  const std::string& dim = params.options.at("dim");
  if (dim != "auto" && std::stoull(dim) != shape.columns) {
    throw usage("--dim: " + in_quotes(dim) + ", but " + params.input->string() + " has " +
                std::to_string(shape.columns) + " columns");
  }
  const auto wanted = problem.regime == Regime::closed ? parameters(problem.family) : std::nullopt;
  if (wanted && shape.columns != *wanted) {
    throw Error(ErrorKind::input, "--input: " + params.input->string() + " has " +
                                      std::to_string(shape.columns) +
                                      " columns; expected for --family " +
                                      params.options.at("family") + ": " + std::to_string(*wanted));
  }
  problem.width = shape.columns;
}

// Checks --params, the parameters of the model whose design matrix the input is: one row per class.
void sizes_of_params(const SuiteParams& params, Problem& problem) {
  const std::string& file = params.options.at("params");
  if (file == "none") return;
  if (problem.regime != Regime::empirical || problem.model == Model::scores) {
    throw usage("--params: " + in_quotes(file) +
                " would not be read; it needs --regime empirical and --model logistic or softmax");
  }
  const NpyShape shape = read_npy_shape(file, "--params");
  check_type(params, "--params: " + file, shape, problem.element());
  const std::string& given = params.options.at("classes");
  const bool other =
      problem.model == Model::softmax && given != "auto" && std::stoull(given) != shape.rows;
  if (shape.columns != problem.width || (problem.model == Model::logistic && shape.rows != 1) ||
      other) {
    const std::string rows = problem.model == Model::logistic ? "1" : other ? given : "(classes)";
    throw Error(ErrorKind::input,
                "--params: " + file + " is " + std::to_string(shape.rows) + " x " +
                    std::to_string(shape.columns) + "; expected: " + rows + " x " +
                    std::to_string(problem.width) + ", as many columns as the design matrix");
  }
  if (problem.model == Model::softmax) problem.classes = shape.rows;
}

void sizes_of_closed(const SuiteParams& params, Problem& problem) {
  const auto own = parameters(problem.family);
  if (own && !params.input) {
    const std::uint64_t given = count(params, "dim", *own);
    if (given != *own) {
      throw usage("--dim: " + in_quotes(std::to_string(given)) + "; expected with --family " +
                  params.options.at("family") + ": " + std::to_string(*own));
    }
    problem.width = *own;
  }
  problem.dim = problem.width;
  limit("dim", problem.dim, 1, most_closed_dim);
}

void sizes_of_models(Problem& problem) {
  problem.dim = problem.width;
  limit("dim", problem.dim, 1, most_models_dim);
  limit("scores", problem.scores, 1, most_scores);
  if (problem.model == Model::gaussian && problem.dim % 2 != 0)
    throw usage("--dim: " + in_quotes(std::to_string(problem.dim)) +
                " is odd; expected with --model gaussian: an even number, (mu, "
                "sigma) for each coordinate");
  if (problem.wide) throw usage("--precision: \"fp64\" is not for --regime models; expected: fp32");
}

}  // namespace

Problem problem_of(const SuiteParams& params) {
  Problem problem;
  const auto& options = params.options;
  problem.regime = options.at("regime") == "empirical" ? Regime::empirical
                   : options.at("regime") == "models"  ? Regime::models
                                                       : Regime::closed;
  choose_model(params, problem);
  problem.family = family_of(options.at("family"));
  problem.wide = options.at("precision") == "fp64";
  problem.integers = options.at("data") == "integers";
  problem.portable = options.at("kernel") == "portable";
  problem.seed = params.seed;
  problem.points = params.size;
  // Softmax regression's F has --classes, usually 4, times as many rows.
  const std::uint64_t empirical = problem.model == Model::softmax ? 64 : 256;
  problem.width = count(params, "dim",
                        problem.regime == Regime::empirical ? empirical
                        : problem.regime == Regime::models  ? 32
                                                            : 16);
  if (params.input) sizes_of_file(params, problem);
  limit("size", problem.points, 0, most_points);
  if (problem.regime == Regime::closed) {
    sizes_of_closed(params, problem);
    return problem;
  }
  if (problem.regime == Regime::models) {
    problem.scores = count(params, "scores", 256);
    sizes_of_models(problem);
    return problem;
  }
  problem.classes = problem.model == Model::softmax ? count(params, "classes", 4) : 1;
  sizes_of_params(params, problem);
  limit("classes", problem.classes, 1, 64);
  problem.scores = problem.classes;
  problem.dim = problem.width * problem.classes;
  limit(problem.classes > 1 ? "dim times --classes" : "dim", problem.dim, 1, most_dim);
  return problem;
}

std::uint64_t tiles_of(std::uint64_t dim, std::uint64_t tile) {
  const std::uint64_t edge = ceil_div(dim, tile);
  return edge * (edge + 1) / 2;
}

Blocks Blocks::of(const Problem& problem) {
  // A chain has at most 4096 fp32 sums: its rounding is a few 1e-6 of the magnitudes, and the
  // output of a block is 3 % of what is computed. Chains are shorter, down to 512, if the work
  // would not fill 8 GPUs of 264 work-groups four times; and down to 64 if there were fewer than 64
  // blocks.
  constexpr std::uint64_t most = 4096, enough_tiles = 8192, fewest_blocks = 64;
  Blocks made;
  made.rows = problem.points;
  std::uint64_t scores = most;  // score vectors per block
  const std::uint64_t all = problem.points * problem.scores, tiles = tiles_of(problem.dim, 128);
  const auto blocks = [&] { return ceil_div(all, scores); };
  while ((blocks() * tiles < enough_tiles && scores > 512) ||
         (blocks() < fewest_blocks && scores > 64))
    scores /= 2;
  made.block_rows = 1;
  while (made.block_rows * 2 * problem.scores <=
         std::max<std::uint64_t>(scores, problem.scores * 2))
    made.block_rows *= 2;
  made.blocks = ceil_div(made.rows, made.block_rows);
  // A device keeps a partial for each item; these may take half of the input's size, or 1 GiB.
  const Bytes partial = problem.triangle() * sizeof(double),
              room = std::max<Bytes>(problem.input_bytes() / 2, Bytes{1} << 30);
  const auto items = [&] {
    return std::max<Items>(1, (made.blocks + (Items{1} << made.height) - 1) >> made.height);
  };
  while (made.height < most_height && (items() > 1024 || items() * partial > room)) ++made.height;
  made.items = items();
  return made;
}

}  // namespace mgpu::fisher
