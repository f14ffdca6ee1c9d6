// Describes the matrix suite for the tool: name, options, sizes.
#include "lib/base/error.hpp"
#include "lib/workload/npy.hpp"
#include "suites/matrix/matrix_workload.hpp"
#include "suites/suites.hpp"

namespace mgpu {

SuiteInfo matrix_suite();

namespace {

using namespace matrix;

Bytes host_bytes(const SuiteParams& params) {
  const Problem problem = problem_of(params);
  // Counts operands and C, and a few vectors and rows of the reference.
  return problem.sizes().host_bytes() +
         8 * (8 * problem.rows + 24 * problem.columns + 2 * problem.inner);
}

// Returns the largest number for sizes beyond the limit, so that they never fit; the check of
// memory then names the largest size that does.
Bytes host_bytes_or_all(const SuiteParams& params) {
  if (params.size > most_rows) return ~Bytes{0};
  return host_bytes(params);
}

void check(const SuiteParams& params) { problem_of(params); }

void resolve(SuiteParams& params) {
  const Problem problem = problem_of(params);
  params.options["cols"] = std::to_string(problem.columns);
  params.options["inner"] = std::to_string(problem.inner);
}

std::uint64_t rows_of_input(SuiteParams& params) { return read_npy_shape(*params.input).rows; }

Shape shape(const SuiteParams& params) { return shape_of(problem_of(params)); }

std::unique_ptr<Workload> make(const SuiteParams& params) {
  return std::make_unique<MatrixWorkload>(params);
}

}  // namespace

SuiteInfo matrix_suite() {
  using Kind = SuiteOption::Kind;
  SuiteInfo info;
  info.name = "matrix";
  info.summary = "Matrix product C = alpha A B + beta C, split by rows, columns or tiles of C";
  info.size_name = "rows";
  info.default_size = 2048;
  info.quick_size = 1024;
  info.sizes_per_doubling = 2;
  info.full_size = 8192;
  info.options = {
      {"precision",
       "Type of A, B, C and every sum; 3xtf32: fp32 emulated on NVIDIA tensor cores, with an error "
       "of its own",
       {"fp32", "fp64", "3xtf32"}},
      {"axis", "Split C by rows, columns or tiles", {"rows", "cols", "tiles"}},
      {"cols",
       "Columns of B and C (--size counts the rows of A and C); same: as many as rows",
       {"same"},
       Kind::count},
      {"inner", "Columns of A and rows of B; same: as many as rows", {"same"}, Kind::count},
      {"alpha", "Factor of A B", {"1"}, Kind::number},
      {"beta", "Factor of the C that is added; 0: none", {"0"}, Kind::number},
      {"data",
       "Seeded operands: uniform in (-1, 1), or integers from -4 to 4, whose products are exact",
       {"uniform", "integers"}},
      {"kernel",
       "auto: the fastest kernel that works; portable: plain OpenCL C; on NVIDIA GPUs also vector "
       "(asynchronous copies) and tensor (tensor cores)",
       {"auto", "portable", "vector", "tensor"}},
  };
  info.modes = {Mode::resident, Mode::end_to_end};
  info.inputs = 3;
  info.input =
      "A.npy,B.npy and, unless --beta is 0, C.npy: two-dimensional arrays of the --precision";
  info.has_kernel_variants = true;
  info.tuned_options = {"precision"};
  info.host_bytes = host_bytes_or_all;
  info.size_of_input = rows_of_input;
  info.check = check;
  info.optional.resolve = resolve;
  info.shape = shape;
  info.make = make;
  return info;
}

}  // namespace mgpu
