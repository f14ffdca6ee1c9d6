#include "suites/tropical/problem.hpp"

#include <charconv>
#include <limits>
#include <vector>

#include "lib/base/error.hpp"
#include "lib/base/quote.hpp"
#include "lib/workload/npy.hpp"
#include "suites/tropical/graph_file.hpp"

namespace mgpu::tropical {
namespace {

[[noreturn]] void refuse(const std::string& option, const std::string& value,
                         const std::string& accepted) {
  throw Error(ErrorKind::usage,
              "--" + option + ": " + in_quotes(value) + "; expected: " + accepted);
}

NpyNumbers numbers_of(const Problem& problem) {
  return problem.integers ? NpyNumbers::int32 : NpyNumbers::real;
}

double density_of(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && value > 0 && value <= 1)
    return value;
  refuse("density", text, "above 0, at most 1");
}

// Checks the form of a kernel's name. Its existence depends on the device, which reports it.
std::string kernel_of(const std::string& text) {
  if (text == "auto" || text == "portable") return text;
  for (const char* kind : {"packed ", "portable ", "cpu "})
    if (text.starts_with(kind)) return text;
  refuse("kernel", text,
         "auto, portable, or a variant as calibrate --tune names them, such as packed 64x128x8 by "
         "8x8");
}

Route route_of(const std::string& text) {
  Route route;
  const std::size_t colon = text.find(':');
  const auto count = [&](std::string_view digits, std::uint64_t& value) {
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return error == std::errc() && end == digits.data() + digits.size();
  };
  if (colon != std::string::npos && count(std::string_view(text).substr(0, colon), route.from) &&
      count(std::string_view(text).substr(colon + 1), route.to))
    return route;
  refuse("route", text, "FROM:TO, two vertices counted from 0");
}

NpyShape matrix_of_file(const std::filesystem::path& file, const Problem& problem) {
  const NpyShape shape = read_npy_shape(file, "--input", numbers_of(problem));
  if (shape.element == 4) return shape;
  throw Error(ErrorKind::input, "--input: " + file.string() +
                                    " holds float64; expected with --precision fp32: float32");
}

void sizes_of_matrices(const SuiteParams& params, Problem& problem) {
  if (params.more_inputs.size() != 1) {
    throw Error(ErrorKind::input, "--input: " + std::to_string(params.more_inputs.size() + 1) +
                                      " file(s); expected with --op product: A.npy,B.npy");
  }
  const NpyShape a = matrix_of_file(*params.input, problem),
                 b = matrix_of_file(params.more_inputs.front(), problem);
  if (a.columns != b.rows) {
    throw Error(ErrorKind::input,
                "--input: " + params.input->string() + " has " + std::to_string(a.columns) +
                    " columns, " + params.more_inputs.front().string() + " " +
                    std::to_string(b.rows) + " rows; expected: as many columns in A as rows in B");
  }
  problem.rows = a.rows;
  problem.columns = b.columns;
  problem.inner = a.columns;
  for (const auto& [option, value] :
       {std::pair{"cols", problem.columns}, {"inner", problem.inner}}) {
    const std::string& given = params.options.at(option);
    if (given != "same" && given != std::to_string(value))
      refuse(option, given, std::to_string(value) + ", as the files have");
  }
}

void sizes(const SuiteParams& params, Problem& problem) {
  if (problem.shortest_paths) {
    if (params.input && !params.more_inputs.empty())
      throw Error(ErrorKind::input, "--input: " + std::to_string(params.more_inputs.size() + 1) +
                                        " files; expected with --op apsp: one");
    problem.rows = problem.columns = problem.inner =
        params.input ? vertices_of_file(*params.input, problem) : params.size;
    if (problem.rows == 0 || problem.rows > most_vertices)
      throw Error(ErrorKind::usage, "--size: " + std::to_string(problem.rows) +
                                        " vertices; expected with --op apsp: 1 to " +
                                        std::to_string(most_vertices));
    return;
  }
  if (params.input) {
    sizes_of_matrices(params, problem);
  } else {
    const auto size = [&](const char* name) {
      const std::string& text = params.options.at(name);
      return text == "same" ? params.size : std::stoull(text);
    };
    problem.rows = params.size;
    problem.columns = size("cols");
    problem.inner = size("inner");
  }
  const auto limit = [](const char* what, std::uint64_t value, std::uint64_t most) {
    if (value > most)
      throw Error(ErrorKind::usage, std::string(what) + ": " + std::to_string(value) +
                                        "; expected: 0 to " + std::to_string(most));
  };
  limit("--size (rows)", problem.rows, most_rows);
  limit("--cols", problem.columns, most_rows);
  limit("--inner", problem.inner, most_inner);
}

void check_together(const SuiteParams& params, const Problem& problem) {
  const auto& options = params.options;
  if (problem.integers && problem.data == Data::uniform)
    refuse("data", "uniform", "with --precision int32: integers, negative");
  if (problem.shortest_paths) {
    if (problem.axis != Axis::rows) refuse("axis", options.at("axis"), "with --op apsp: rows");
    for (const char* option : {"cols", "inner"})
      if (const std::string& given = options.at(option);
          given != "same" && given != std::to_string(problem.rows))
        refuse(option, given, "with --op apsp: same");
  }
  if (problem.absolute && !(problem.shortest_paths && params.input))
    refuse("absolute-weights", "yes", "with --op apsp and --input");
  if (!problem.route) return;
  if (!problem.shortest_paths) refuse("route", options.at("route"), "with --op apsp");
}

}  // namespace

template <>
std::int32_t nothing<std::int32_t>(bool maximum) {
  return maximum ? -nothing_int32 : nothing_int32;
}
template <>
float nothing<float>(bool maximum) {
  return maximum ? -std::numeric_limits<float>::infinity() : std::numeric_limits<float>::infinity();
}
template <>
std::int32_t nothing_in_files<std::int32_t>(bool maximum) {
  return maximum ? std::numeric_limits<std::int32_t>::min()
                 : std::numeric_limits<std::int32_t>::max();
}
template <>
float nothing_in_files<float>(bool maximum) {
  return nothing<float>(maximum);
}

void check_route(const Problem& problem) {
  if (!problem.route || (problem.route->from < problem.rows && problem.route->to < problem.rows))
    return;
  refuse("route", std::to_string(problem.route->from) + ":" + std::to_string(problem.route->to),
         "vertices from 0 to " + std::to_string(problem.rows - 1));
}

Problem problem_of(const SuiteParams& params) {
  Problem problem;
  const auto& options = params.options;
  problem.shortest_paths = options.at("op") == "apsp";
  problem.maximum = options.at("semiring") == "max-plus";
  problem.integers = options.at("precision") == "int32";
  problem.axis = options.at("axis") == "rows"   ? Axis::rows
                 : options.at("axis") == "cols" ? Axis::cols
                                                : Axis::tiles;
  problem.kernel = kernel_of(options.at("kernel"));
  problem.data = options.at("data") == "integers"  ? Data::integers
                 : options.at("data") == "uniform" ? Data::uniform
                                                   : Data::negative;
  problem.density = density_of(options.at("density"));
  problem.seed = params.seed;
  problem.absolute = params.has_flag("absolute-weights");
  if (options.at("route") != "none") problem.route = route_of(options.at("route"));
  problem.paths = params.has_flag("paths") || problem.route;
  sizes(params, problem);
  check_together(params, problem);
  return problem;
}

}  // namespace mgpu::tropical
