// Fisher matrices on the devices there are: every regime in both modes against the references, with the same bits whatever the
// strategy, the slices and the kernels (those for CPUs, and those for GPUs run on whatever there is).
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <map>
#include <tuple>

#include "lib/workload/npy.hpp"
#include "suites/fisher/gram_workload.hpp"
#include "suites/fisher/points_workload.hpp"
#include "tests/support/fisher_problem.hpp"
#include "tests/support/machine.hpp"

using namespace mgpu;
using mgpu::testing::fisher_params;
using mgpu::testing::Path;

namespace {

constexpr char rolled[] = " -DFISHER_ROLLED";  // PoCL takes minutes for unrolled sums

struct How {
  Path path = Path::own;
  Mode mode = Mode::resident;
  std::string strategy = "equal";
  Items pipeline = 0;
  std::size_t devices = 0;  // 0: all
};

std::unique_ptr<Workload> workload_of(const SuiteParams& params) {
  if (params.options.at("regime") == "empirical") return std::make_unique<fisher::GramWorkload>(params);
  return std::make_unique<fisher::PointsWorkload>(params);
}

// Of one sample, published and verified.
std::string digest_of(const SuiteParams& params, const How& how) {
  for (const auto& [name, value] : params.options) CAPTURE(name + "=" + value);
  CAPTURE(params.size);
  CAPTURE(how.strategy);
  CAPTURE(to_string(how.mode));
  CAPTURE((how.path == Path::gpu));
  const std::unique_ptr<Workload> workload = workload_of(params);
  testing::Programs made = testing::make_programs(*workload, how.mode, how.path, how.pipeline, how.devices, rolled);
  workload->begin_sample();
  testing::take_sample(*workload, made, how.strategy, how.mode);
  for (std::size_t i = 0; i < made.programs.size(); ++i) {
    OpenDevice& device = *testing::machine().open[i];
    made.programs[i]->publish(device.stream());
    testing::wait_for(device);
    made.programs[i]->published();
  }
  const Verdict verdict = workload->verify(VerifyLevel::full, 3);
  CHECK_MESSAGE(verdict.status == Verdict::Status::passed, verdict.message);
  return workload->digest();
}

// On `devices` (0: all), and by the kernels for GPUs on one, as each device builds its own.
void check_one_digest(const SuiteParams& params, std::size_t devices = 0) {
  const How ways[] = {{Path::own, Mode::resident, "equal", 0, devices},
                      {Path::own, Mode::end_to_end, "dynamic", 1, devices},
                      {Path::gpu, Mode::resident, "dynamic", 2, 1},
                      {Path::gpu, Mode::end_to_end, "equal", 3, 1}};
  const std::string first = digest_of(params, ways[0]);
  for (const How& how : ways) CHECK(digest_of(params, how) == first);
}

}  // namespace

TEST_CASE("empirical matrices of ragged shapes have one digest for every split, mode and kernel, in both precisions") {
  const std::tuple<unsigned, const char*, const char*> shapes[] = {{1000, "70", "fp32"}, {1, "70", "fp32"}, {777, "30", "fp64"}};
  for (const auto& [points, dim, precision] : shapes)
    check_one_digest(fisher_params(points, {{"dim", dim}, {"precision", precision}}), points == 1000 ? 0 : 1);
  check_one_digest(fisher_params(1500, {{"dim", "65"}, {"data", "integers"}}));
  check_one_digest(fisher_params(0, {{"dim", "70"}}));
}

TEST_CASE("design matrices of logistic and softmax regression give the expected Fisher matrix") {
  check_one_digest(fisher_params(700, {{"model", "logistic"}, {"dim", "70"}}), 1);
  check_one_digest(fisher_params(200, {{"model", "softmax"}, {"dim", "6"}, {"classes", "5"}, {"precision", "fp64"}}), 1);
}

TEST_CASE("matrices from scores drawn at each point are those of the same words in float64, one digest for all") {
  const std::map<std::string, std::string> models{{"regime", "models"}, {"scores", "37"}};
  for (const auto& [model, dim] : {std::pair{"softmax", "10"}, {"softmax", "70"}, {"logistic", "27"}, {"gaussian", "72"}}) {
    auto options = models;
    options["model"] = model;
    options["dim"] = dim;
    check_one_digest(fisher_params(300, options), 1);
  }
}

// A kernel for each takes a third of a second to build: those left out (normal-variance, exponential, Laplace, binomial) differ
// from one here by a factor, and every run of the suite verifies its own. By the GPUs' only where it is another one: fp64 keeps
// places, fp32 finds them.
TEST_CASE("closed forms are right, one digest for all") {
  const std::tuple<const char*, const char*, const char*> families[] = {
      {"normal", "fp32", "auto"},         {"gamma", "fp64", "auto"},   {"gamma-mean", "fp32", "auto"},
      {"beta", "fp32", "auto"},           {"dirichlet", "fp64", "19"}, {"categorical", "fp32", "100"},
      {"categorical-free", "fp32", "19"}, {"poisson", "fp32", "auto"}, {"geometric", "fp64", "auto"}};
  for (const auto& [family, precision, dim] : families) {
    const std::string name = family;
    const SuiteParams params = fisher_params(700, {{"regime", "closed"}, {"family", name}, {"precision", precision}, {"dim", dim}});
    const std::string first = digest_of(params, {Path::own, Mode::end_to_end, "dynamic", 1, 1});
    if (name == "beta" || name == "dirichlet" || name == "categorical")
      CHECK(digest_of(params, {Path::gpu, Mode::resident, "equal", 0, 1}) == first);
  }
}

TEST_CASE("NaN and infinities in scores reach the elements they belong to, and no others") {
  const std::filesystem::path file = std::filesystem::temp_directory_path() / "mgpu-bench-test-fisher.npy";
  std::vector<float> x(200 * 70, 0.5f);
  x[3 * 70 + 2] = std::numeric_limits<float>::quiet_NaN();
  x[150 * 70 + 5] = std::numeric_limits<float>::infinity();
  write_npy(file, {200, 70, 4}, std::as_bytes(std::span(x)));
  SuiteParams params = fisher_params(200);
  params.input = file;
  check_one_digest(params);
  std::filesystem::remove(file);
}
