#include "suites/geometric/problem.hpp"

#include <algorithm>

#include "lib/base/error.hpp"
#include "lib/workload/npy.hpp"
#include "lib/workload/pages.hpp"

namespace mgpu::geometric {
namespace {

Operation operation_of(const std::string& name) {
  return name == "geometric"          ? Operation::geometric
         : name == "outer"            ? Operation::outer
         : name == "inner"            ? Operation::inner
         : name == "left-contraction" ? Operation::left_contraction
                                      : Operation::sandwich;
}

std::uint64_t count_of_files(const SuiteParams& params, const Problem& problem) {
  const auto refuse = [](const std::string& why) {
    return Error(ErrorKind::input, "--input: " + why);
  };
  if (params.more_inputs.size() != 1)
    throw refuse(std::to_string(params.more_inputs.size() + 1) + " file(s); expected: A.npy,B.npy");
  const std::filesystem::path* const files[] = {&*params.input, &params.more_inputs.front()};
  NpyShape shapes[2];
  for (std::size_t i = 0; i < 2; ++i) {
    shapes[i] = read_npy_shape(*files[i]);
    if (shapes[i].element != problem.element())
      throw refuse(
          files[i]->string() + " holds " + (shapes[i].element == 8 ? "float64" : "float32") +
          "; expected with --precision " + (problem.wide ? "fp64: float64" : "fp32: float32"));
    if (shapes[i].columns != problem.signature.components())
      throw refuse(files[i]->string() + " has " + std::to_string(shapes[i].columns) +
                   " columns; expected with --algebra " + problem.signature.text() + ": " +
                   std::to_string(problem.signature.components()) + ", one a component");
  }
  if (shapes[0].rows != shapes[1].rows)
    throw refuse(files[0]->string() + " has " + std::to_string(shapes[0].rows) + " rows, " +
                 files[1]->string() + " " + std::to_string(shapes[1].rows) +
                 "; expected: as many in both");
  return shapes[0].rows;
}

}  // namespace

Problem problem_of(const SuiteParams& params) {
  Problem problem;
  problem.signature = signature_of(params.options.at("algebra"));
  problem.operation = operation_of(params.options.at("op"));
  problem.wide = params.options.at("precision") == "fp64";
  problem.integers = params.options.at("data") == "integers";
  problem.seed = params.seed;
  problem.count = params.input ? count_of_files(params, problem) : params.size;
  if (problem.count > most_multivectors)
    throw Error(ErrorKind::usage, "--size: " + std::to_string(problem.count) +
                                      " is too many; expected: 0 to " +
                                      std::to_string(most_multivectors));
  return problem;
}

Shape shape_of(const Problem& problem) {
  Shape shape;
  shape.items = problem.items();
  shape.unit = {"multivectors", problem.count};
  shape.result_on_devices = true;
  shape.ops = static_cast<double>(problem.count);
  shape.rate_unit = "products/s";
  shape.bytes_in = 2 * problem.operand_bytes();
  shape.bytes_out = problem.operand_bytes();
  shape.spread_cost();
  return shape;
}

Bytes host_bytes(const Problem& problem) { return 3 * in_pages(problem.operand_bytes()); }

}  // namespace mgpu::geometric
