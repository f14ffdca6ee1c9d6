// Describes the geometric suite for the tool: name, options, sizes.
#include "lib/base/error.hpp"
#include "suites/geometric/geometric_workload.hpp"
#include "suites/suites.hpp"

namespace mgpu {

SuiteInfo geometric_suite();

namespace {

using namespace geometric;

Bytes host_bytes_of(const SuiteParams& params) {
  if (params.size > most_multivectors) return ~Bytes{0};
  return geometric::host_bytes(problem_of(params));
}

void check_problem(const SuiteParams& params) { problem_of(params); }

std::uint64_t count_of_input(SuiteParams& params) { return problem_of(params).count; }

Shape shape(const SuiteParams& params) { return shape_of(problem_of(params)); }

std::unique_ptr<Workload> make(const SuiteParams& params) {
  return std::make_unique<GeometricWorkload>(params);
}

}  // namespace

SuiteInfo geometric_suite() {
  using Kind = SuiteOption::Kind;
  SuiteInfo info;
  info.name = "geometric";
  info.summary =
      "Products of multivectors of a geometric (Clifford) algebra, split by multivectors";
  info.size_name = "multivectors";
  info.default_size = 1 << 22;
  info.quick_size = 1 << 16;
  info.full_size = 1 << 24;
  info.full_size_cpu = 1 << 18;
  info.options = {
      {"algebra",
       "P,Q,R: numbers of basis vectors that square to 1, -1 and 0, at most 5 in all; components "
       "are 1, e1, e2, e12, e3, e13, e23, e123, ...",
       {"3,0,0"},
       Kind::text},
      {"op",
       "Product: geometric; its parts whose grade is the sum of the grades (outer), their "
       "difference (inner, the fat dot: scalars take part, as they do not in Hestenes' inner "
       "product), or the right grade minus the left one (left-contraction); or sandwich, a b ~a",
       {"geometric", "outer", "inner", "sandwich", "left-contraction"}},
      {"precision", "Type of all components and sums", {"fp32", "fp64"}},
      {"data",
       "Seeded components: uniform in (-1, 1), or integers from -4 to 4, whose products are exact",
       {"uniform", "integers"}},
  };
  info.modes = {Mode::resident, Mode::end_to_end};
  info.inputs = 2;
  info.input = "A.npy,B.npy of the --precision: one multivector per row, one component per column";
  info.has_kernel_variants = true;
  info.tuned_options = {"op", "precision"};
  info.host_bytes = host_bytes_of;
  info.size_of_input = count_of_input;
  info.check = check_problem;
  info.shape = shape;
  info.make = make;
  return info;
}

}  // namespace mgpu
