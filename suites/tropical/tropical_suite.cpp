// The tropical suite's registration: name, options and sizes.
#include "lib/base/error.hpp"
#include "suites/suites.hpp"
#include "suites/tropical/paths_workload.hpp"
#include "suites/tropical/tropical_product.hpp"

namespace mgpu {

SuiteInfo tropical_suite();

namespace {

using namespace tropical;

Bytes host_bytes(const SuiteParams& params) {
  const bool paths = params.options.at("op") == "apsp";
  if (params.size > (paths ? most_vertices : most_rows)) return ~Bytes{0};
  const Problem problem = problem_of(params);
  return problem.shortest_paths ? host_bytes_of_paths(problem) : problem.sizes().host_bytes();
}

void check(const SuiteParams& params) {
  const Problem problem = problem_of(params);
  if (!params.memory.empty()) check_route(problem);
}

void resolve(SuiteParams& params) {
  const Problem problem = problem_of(params);
  params.options["cols"] = std::to_string(problem.columns);
  params.options["inner"] = std::to_string(problem.inner);
}

std::uint64_t rows_of_input(SuiteParams& params) { return problem_of(params).rows; }

Shape shape(const SuiteParams& params) {
  const Problem problem = problem_of(params);
  return problem.shortest_paths ? shape_of(problem) : shape_of(problem.sizes(), 2, "Op/s");
}

std::unique_ptr<Workload> make(const SuiteParams& params) {
  const Problem problem = problem_of(params);
  if (problem.shortest_paths) return std::make_unique<PathsWorkload>(problem, params);
  return std::make_unique<TropicalProduct>(problem, params);
}

}  // namespace

SuiteInfo tropical_suite() {
  using Kind = SuiteOption::Kind;
  SuiteInfo info;
  info.name = "tropical";
  info.summary =
      "Min-plus and max-plus products of matrices, split by rows, columns or tiles, and all "
      "shortest paths of a graph";
  info.size_name = "rows";
  info.default_size = 2048;
  info.quick_size = 512;
  info.sizes_per_doubling = 2;
  info.full_size = 8192;
  info.full_size_cpu = 512;
  info.options = {
      {"op",
       "a product of two matrices, or all shortest paths of a graph, whose vertices --size counts",
       {"product", "apsp"}},
      {"semiring",
       "min-plus: the smallest sums, shortest paths; max-plus: the largest, longest ones",
       {"min-plus", "max-plus"}},
      {"precision", "of all numbers", {"fp32", "int32"}},
      {"axis", "what C is split into; with --op apsp: rows", {"rows", "cols", "tiles"}},
      {"cols", "columns of B and C; --size counts the rows of A and C", {"same"}, Kind::count},
      {"inner", "columns of A, rows of B", {"same"}, Kind::count},
      {"paths",
       "also which k each element is of; with --op apsp, the vertex before the last",
       {"no", "yes"},
       Kind::flag},
      {"route",
       "FROM:TO: a shortest path that is told with the verification",
       {"none"},
       Kind::text},
      {"data",
       "seeded numbers: integers from 1 to 1000, fp32 from 0 to 1 (uniform), or integers of either "
       "sign (negative); of a graph no "
       "cycle of them gains",
       {"integers", "uniform", "negative"}},
      {"density", "share of seeded entries, or edges, that are there", {"1"}, Kind::number},
      {"kernel",
       "the fastest that works, plain OpenCL C (portable), or a variant as calibrate --tune names "
       "it",
       {"auto"},
       Kind::text},
  };
  info.modes = {Mode::resident, Mode::end_to_end};
  info.inputs = 2;
  info.input =
      "A.npy,B.npy in the --precision; with --op apsp a graph: DIMACS (.gr), Matrix Market (.mtx), "
      "or its matrix of weights (.npy). No "
      "entry: inf, of int32 2147483647; in max-plus -inf, -2147483648";
  info.has_kernel_variants = true;
  info.tuned_options = {"op", "precision"};
  info.host_bytes = host_bytes;
  info.size_of_input = rows_of_input;
  info.check = check;
  info.optional.resolve = resolve;
  info.shape = shape;
  info.make = make;
  return info;
}

}  // namespace mgpu
