// Describes the fisher suite for the tool: name, options, sizes.
#include "lib/base/error.hpp"
#include "lib/workload/npy.hpp"
#include "suites/fisher/gram_workload.hpp"
#include "suites/fisher/points_workload.hpp"
#include "suites/suites.hpp"

namespace mgpu {

SuiteInfo fisher_suite();

namespace {

using namespace fisher;

Bytes host_bytes(const SuiteParams& params) {
  // Such a problem fits nowhere; the check of memory then names the largest size that does.
  if (params.size > most_points) return ~Bytes{0};
  const Problem problem = problem_of(params);
  return problem.regime == Regime::empirical ? GramWorkload::host_bytes(problem)
                                             : PointsWorkload::host_bytes(problem);
}

void check(const SuiteParams& params) { problem_of(params); }

void resolve(SuiteParams& params) {
  const Problem problem = problem_of(params);
  const bool empirical = problem.regime == Regime::empirical,
             closed = problem.regime == Regime::closed;
  params.options["dim"] = std::to_string(problem.width);
  if (!closed)
    params.options["model"] = problem.model == Model::scores     ? "scores"
                              : problem.model == Model::logistic ? "logistic"
                              : problem.model == Model::softmax  ? "softmax"
                                                                 : "gaussian";
  if (problem.regime == Regime::models) params.options["scores"] = std::to_string(problem.scores);
  if (empirical && problem.model == Model::softmax)
    params.options["classes"] = std::to_string(problem.classes);
}

std::uint64_t points_of_input(SuiteParams& params) { return read_npy_shape(*params.input).rows; }

Shape shape(const SuiteParams& params) {
  const Problem problem = problem_of(params);
  return problem.regime == Regime::empirical ? GramWorkload::shape_of(problem)
                                             : PointsWorkload::shape_of(problem);
}

std::unique_ptr<Workload> make(const SuiteParams& params) {
  if (problem_of(params).regime == Regime::empirical) return std::make_unique<GramWorkload>(params);
  return std::make_unique<PointsWorkload>(params);
}

std::string family_help() {
  std::string help = "Family of --regime closed, with the parameters of a point: ";
  for (std::size_t i = 0; i < family_names.size(); ++i)
    help += std::string(i == 0 ? "" : "; ") + std::string(family_names[i]) + " (" +
            std::string(family_parameters[i]) + ")";
  return help;
}

}  // namespace

SuiteInfo fisher_suite() {
  using Kind = SuiteOption::Kind;
  SuiteInfo info;
  info.name = "fisher";
  info.summary =
      "Fisher information of one model from its scores, or at many points of a manifold; split by "
      "points";
  info.size_name = "points";
  info.default_size = std::uint64_t{1} << 16;
  info.quick_size = std::uint64_t{1} << 13;
  info.full_size = std::uint64_t{1} << 18;
  // At 2^18 points, a closed form of dimension 2 takes only 5 MB; at 2^27 points each point took
  // 1.4 times as long. Score vectors of 256 numbers take 256 MiB, which makes 192 work-groups for
  // the 132 multiprocessors of an H200 and takes 7 % more time per tile than at 2^22 points.
  info.full_bytes = Bytes{1} << 30;
  info.options = {
      {"regime",
       "Matrices to compute: empirical: one, the mean of s s^T over score vectors s; models: one "
       "per point, from scores drawn there; closed: one per point in closed form",
       {"empirical", "models", "closed"}},
      {"model",
       "Model. With --regime empirical, input rows are scores, or a design matrix of logistic or "
       "softmax regression (expected Fisher matrix); with models: softmax (categorical, logits), "
       "logistic, or gaussian ((mu, sigma) of each coordinate). auto: scores, softmax",
       {"auto", "scores", "logistic", "softmax", "gaussian"}},
      {"family", family_help(), {family_names.begin(), family_names.end()}},
      {"precision", "Type of inputs and sums; an empirical F is always float64", {"fp32", "fp64"}},
      {"dim",
       "Parameters per point (the dimension of F, except for softmax regression); auto: 256 "
       "(softmax regression 64), models 32, closed 16",
       {"auto"},
       Kind::count},
      {"classes",
       "Classes of empirical softmax regression, whose F has --dim times as many rows; auto: 4",
       {"auto"},
       Kind::count},
      {"scores", "Scores drawn per point with --regime models; auto: 256", {"auto"}, Kind::count},
      {"params",
       "A .npy file with the parameters of logistic (1 x dim) or softmax (classes x dim) "
       "regression; none: seeded",
       {"none"},
       Kind::file},
      {"kernel",
       "auto: the fastest kernel that works; portable: plain OpenCL C. Up to --dim 32, auto sums "
       "the matrices of logistic and gaussian models on fp64 tensor cores if there are any; "
       "results then differ in the last bits",
       {"auto", "portable"}},
      {"data",
       "Seeded scores: uniform in (-1, 1), or integers from -4 to 4, whose sums are exact",
       {"uniform", "integers"}},
  };
  info.modes = {Mode::resident, Mode::end_to_end};
  info.input =
      "a .npy file of the --precision with one score vector, row of the design matrix, or point "
      "per row";
  info.host_bytes = host_bytes;
  info.size_of_input = points_of_input;
  info.check = check;
  info.optional.resolve = resolve;
  info.shape = shape;
  info.make = make;
  return info;
}

}  // namespace mgpu
