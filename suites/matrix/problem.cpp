#include "suites/matrix/problem.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "lib/base/error.hpp"
#include "lib/base/quote.hpp"
#include "lib/workload/npy.hpp"

namespace mgpu::matrix {
namespace {

// Returns alpha or beta. Throws Error(usage) if the precision holds it with fewer digits or not at
// all, as it would be another factor.
double factor(const SuiteParams& params, const char* name, Precision precision) {
  const std::string& text = params.options.at(name);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool wide = precision == Precision::fp64,
             number = error == std::errc() && end == text.data() + text.size();
  const double most = wide ? std::numeric_limits<double>::max()
                           : static_cast<double>(std::numeric_limits<float>::max());
  const double least = wide ? std::numeric_limits<double>::min()
                            : static_cast<double>(std::numeric_limits<float>::min());
  const double rounds_to_most = wide ? most : 0x1.fffffefffffffp127, magnitude = std::abs(value);
  if (number && (value == 0 || (magnitude >= least && magnitude <= rounds_to_most)))
    // The kernels are given the value rounded to the precision.
    return wide ? value : static_cast<double>(static_cast<float>(std::clamp(value, -most, most)));
  throw Error(ErrorKind::usage, std::string("--") + name + ": " + in_quotes(text) +
                                    " is not a number that --precision " +
                                    params.options.at("precision") +
                                    " holds; expected: 0, or a magnitude from " +
                                    (wide ? "2.3e-308 to 1.7e308" : "1.2e-38 to 3.4e38"));
}

// Sets the sizes from the shapes of A and B (and C). --cols and --inner may only confirm them.
void sizes_of_files(const SuiteParams& params, Problem& problem) {
  const auto files = [&] {
    std::vector<std::filesystem::path> all{*params.input};
    all.insert(all.end(), params.more_inputs.begin(), params.more_inputs.end());
    return all;
  }();
  const auto refuse = [](const std::string& why) {
    return Error(ErrorKind::input, "--input: " + why);
  };
  const std::size_t wanted = problem.reads_c() ? 3 : 2;
  if (files.size() != wanted) {
    throw refuse(std::to_string(files.size()) + (files.size() == 1 ? " file" : " files") +
                 "; expected: " +
                 (problem.reads_c() ? "A.npy,B.npy,C.npy, as --beta is not 0"
                                    : "A.npy,B.npy, as --beta is 0"));
  }
  std::vector<NpyShape> shapes;
  for (const auto& file : files) {
    shapes.push_back(read_npy_shape(file));
    if (shapes.back().element != problem.element()) {
      throw refuse(file.string() + " holds " +
                   (shapes.back().element == 8 ? "float64" : "float32") +
                   "; expected with --precision " + params.options.at("precision") + ": " +
                   (problem.element() == 8 ? "float64" : "float32"));
    }
  }
  const auto text = [&](std::size_t i) {
    return files[i].string() + " is " + std::to_string(shapes[i].rows) + " x " +
           std::to_string(shapes[i].columns);
  };
  if (shapes[0].columns != shapes[1].rows)
    throw refuse(text(0) + ", " + text(1) + "; expected: as many columns in A as rows in B");
  if (wanted == 3 && (shapes[2].rows != shapes[0].rows || shapes[2].columns != shapes[1].columns))
    throw refuse(text(2) + "; expected: the rows of A and the columns of B, " +
                 std::to_string(shapes[0].rows) + " x " + std::to_string(shapes[1].columns));
  problem.rows = shapes[0].rows;
  problem.columns = shapes[1].columns;
  problem.inner = shapes[0].columns;
  for (const auto& [option, value] :
       {std::pair{"cols", problem.columns}, {"inner", problem.inner}}) {
    const std::string& given = params.options.at(option);
    if (given == "same" || given == std::to_string(value)) continue;
    throw Error(ErrorKind::usage, std::string("--") + option + ": " + in_quotes(given) +
                                      ", but the files of --input have " + std::to_string(value));
  }
}

}  // namespace

Problem problem_of(const SuiteParams& params) {
  Problem problem;
  const auto& options = params.options;
  const std::string& precision = options.at("precision");
  problem.precision = precision == "fp64"     ? Precision::fp64
                      : precision == "3xtf32" ? Precision::tf32x3
                                              : Precision::fp32;
  problem.axis = options.at("axis") == "rows"   ? Axis::rows
                 : options.at("axis") == "cols" ? Axis::cols
                                                : Axis::tiles;
  constexpr std::array<const char*, 4> kernels{"auto", "portable", "vector", "tensor"};
  problem.kernel = static_cast<KernelChoice>(
      std::find(kernels.begin(), kernels.end(), options.at("kernel")) - kernels.begin());
  if (problem.kernel == KernelChoice::tensor && problem.precision == Precision::fp32)
    throw Error(ErrorKind::usage,
                "--kernel: \"tensor\" is for --precision fp64 and 3xtf32; expected with fp32: "
                "auto, portable, vector");
  if (problem.precision == Precision::tf32x3 && problem.kernel != KernelChoice::automatic &&
      problem.kernel != KernelChoice::tensor)
    throw Error(ErrorKind::usage,
                "--kernel: " + in_quotes(options.at("kernel")) +
                    " has no 3xtf32; expected with that --precision: auto, tensor");
  problem.alpha = factor(params, "alpha", problem.precision);
  problem.beta = factor(params, "beta", problem.precision);
  problem.integers = options.at("data") == "integers";
  if (params.input) {
    sizes_of_files(params, problem);
  } else {
    const auto size = [&](const char* name) {
      const std::string& text = options.at(name);
      return text == "same" ? params.size : std::stoull(text);
    };
    problem.rows = params.size;
    problem.columns = size("cols");
    problem.inner = size("inner");
  }
  const auto limit = [](const char* what, std::uint64_t value, std::uint64_t most) {
    if (value <= most) return;
    throw Error(ErrorKind::usage, std::string(what) + ": " + std::to_string(value) +
                                      " is too many; expected: 0 to " + std::to_string(most));
  };
  limit("--size (rows)", problem.rows, most_rows);
  limit("--cols", problem.columns, most_rows);
  limit("--inner", problem.inner, most_inner);
  return problem;
}

}  // namespace mgpu::matrix
