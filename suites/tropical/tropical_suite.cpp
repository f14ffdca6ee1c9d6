// The tropical suite's registration: name, options and sizes.
#include "lib/base/error.hpp"
#include "suites/suites.hpp"
#include "suites/tropical/network_workload.hpp"
#include "suites/tropical/paths_workload.hpp"
#include "suites/tropical/tropical_product.hpp"

namespace mgpu {

SuiteInfo tropical_suite();

namespace {

using namespace tropical;

bool is_network(const SuiteParams& params) { return params.options.at("op") == "network"; }

Bytes host_bytes(const SuiteParams& params) {
  if (is_network(params))
    return params.size > most_samples ? ~Bytes{0} : host_bytes_of(network_of(params));
  const bool paths = params.options.at("op") == "apsp";
  if (params.size > (paths ? most_vertices : most_rows)) return ~Bytes{0};
  const Problem problem = problem_of(params);
  return problem.shortest_paths ? host_bytes_of_paths(problem) : problem.sizes().host_bytes();
}

void check(const SuiteParams& params) {
  if (is_network(params)) {
    network_of(params);
    return;
  }
  const Problem problem = problem_of(params);
  if (!params.memory.empty()) check_route(problem);
}

void resolve(SuiteParams& params) {
  if (is_network(params)) return;
  const Problem problem = problem_of(params);
  params.options["cols"] = std::to_string(problem.columns);
  params.options["inner"] = std::to_string(problem.inner);
}

// A training of a hundred steps would take seconds in each of a dozen executions.
void make_short(SuiteParams& params) {
  if (is_network(params)) params.options["iterations"] = "8";
}

std::uint64_t rows_of_input(SuiteParams& params) {
  return is_network(params) ? network_of(params).samples : problem_of(params).rows;
}

Shape shape(const SuiteParams& params) {
  if (is_network(params)) return shape_of(network_of(params));
  const Problem problem = problem_of(params);
  return problem.shortest_paths ? shape_of(problem) : shape_of(problem.sizes(), 2, "Op/s");
}

std::unique_ptr<Workload> make(const SuiteParams& params) {
  if (is_network(params)) return std::make_unique<NetworkWorkload>(params);
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
      "Min-plus and max-plus products of matrices, split by rows, columns or tiles, all shortest "
      "paths of a graph, and training of a network of such products";
  info.size_name = "rows";
  info.default_size = 2048;
  info.quick_size = 512;
  info.sizes_per_doubling = 2;
  info.full_size = 8192;
  info.full_size_cpu = 512;
  info.options = {
      {"op",
       "product: of two matrices; apsp: all shortest paths of a graph, whose vertices --size "
       "counts; network: training with a batch of --size samples, which devices share",
       {"product", "apsp", "network"}},
      {"semiring",
       "min-plus: smallest sums, shortest paths; max-plus: largest sums, longest paths; layers of "
       "a "
       "network take turns, and the first has this one",
       {"min-plus", "max-plus"}},
      {"precision", "Type of all numbers", {"fp32", "int32"}},
      {"axis",
       "Split C by rows, columns or tiles; with --op apsp: by rows",
       {"rows", "cols", "tiles"}},
      {"cols",
       "Columns of B and C (--size counts the rows of A and C); same: as many as rows",
       {"same"},
       Kind::count},
      {"inner", "Columns of A and rows of B; same: as many as rows", {"same"}, Kind::count},
      {"paths",
       "Also compute the index k that each element comes from; with --op apsp: the last vertex but "
       "one of each path",
       {"no", "yes"},
       Kind::flag},
      {"route",
       "FROM:TO: report this shortest path along with the verification; none: no path",
       {"none"},
       Kind::text},
      {"absolute-weights",
       "With --op apsp: take the absolute values of the weights of --input",
       {"no", "yes"},
       Kind::flag},
      {"data",
       "Seeded numbers: integers from 1 to 1000, uniform fp32 from 0 to 1, or negative (integers "
       "of either sign; no cycle of a graph gains)",
       {"integers", "uniform", "negative"}},
      {"density", "Share of the seeded entries, or edges, that exist", {"1"}, Kind::number},
      {"layers", "Layers of a network, up to 8", {"2"}, Kind::count},
      {"width", "Neurons per layer, inputs and outputs, up to 256", {"64"}, Kind::count},
      {"iterations",
       "Steps of training per sample, each with the whole batch",
       {"100"},
       Kind::count},
      {"learning-rate",
       "Learning rate of the first step of a network; it falls to 0 over the training",
       {"0.3"},
       Kind::number},
      {"kernel",
       "auto: the fastest kernel that works; portable: plain OpenCL C; or a variant by the name "
       "that calibrate --tune prints",
       {"auto"},
       Kind::text},
  };
  info.modes = {Mode::resident, Mode::end_to_end};
  info.inputs = 2;
  info.input =
      "A.npy,B.npy of the --precision; with --op apsp a graph: DIMACS (.gr), Matrix Market (.mtx), "
      "or its matrix of weights (.npy); with --op network inputs and targets X.npy,Y.npy, float32, "
      "a "
      "row per sample. A missing entry is inf, for int32 2147483647; in max-plus "
      "-inf, -2147483648";
  info.has_kernel_variants = true;
  info.tuned_options = {"op", "precision"};
  info.host_bytes = host_bytes;
  info.size_of_input = rows_of_input;
  info.check = check;
  info.optional.resolve = resolve;
  info.optional.make_short = make_short;
  info.shape = shape;
  info.make = make;
  return info;
}

}  // namespace mgpu
