#include "suites/matrix/operands.hpp"

#include <algorithm>

#include "lib/base/error.hpp"
#include "lib/workload/npy.hpp"
#include "lib/workload/parallel_for.hpp"
#include "lib/workload/splitmix64.hpp"
#include "suites/common/finite.hpp"
#include "suites/common/uniform_element.hpp"

namespace mgpu::matrix {
Operands::Operands(const Problem& problem, const SuiteParams& params)
    : ProductMemory(problem.sizes()) {
  const std::span<std::byte> parts[] = {operand(a()), operand(b()), operand(c_in())};
  if (params.input) {
    const NpyShape shapes[] = {{problem.rows, problem.inner, problem.element()},
                               {problem.inner, problem.columns, problem.element()},
                               {problem.rows, problem.columns, problem.element()}};
    for (std::size_t i = 0; i <= params.more_inputs.size(); ++i) {
      const std::filesystem::path& file = i == 0 ? *params.input : params.more_inputs[i - 1];
      read_npy(file, shapes[i], parts[i]);
      const std::string caveat = non_finite_caveat("--input " + file.string(), shapes[i], parts[i]);
      if (!caveat.empty()) caveats_.push_back(caveat);
    }
    return;
  }
  for (std::uint64_t i = 0; i < 3; ++i) {
    const std::uint64_t seed = splitmix64(params.seed, i);
    if (problem.precision == Precision::fp64) {
      fill_uniform<double>(parts[i], seed, problem.integers, params.host_threads);
    } else {
      fill_uniform<float>(parts[i], seed, problem.integers, params.host_threads);
    }
  }
}

}  // namespace mgpu::matrix
