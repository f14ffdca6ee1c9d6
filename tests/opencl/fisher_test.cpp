// Fisher matrices on the devices there are: every regime in both modes against the references, with
// the same bits whatever the strategy, the slices and the kernels (those for CPUs, and those for
// GPUs run on whatever there is).
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
#include "tests/support/thorough.hpp"

using namespace mgpu;
using mgpu::testing::fisher_params;
using mgpu::testing::Path;

namespace {

constexpr char rolled[] = " -DROLLED";  // PoCL takes minutes for unrolled sums

struct How {
  Path path = Path::own;
  Mode mode = Mode::resident;
  std::string strategy = "equal";
  Items pipeline = 0;
  std::size_t devices = 0;  // 0: all
};

std::unique_ptr<Workload> workload_of(const SuiteParams& params) {
  if (params.options.at("regime") == "empirical")
    return std::make_unique<fisher::GramWorkload>(params);
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
  testing::Programs made =
      testing::make_programs(*workload, how.mode, how.path, how.pipeline, how.devices, rolled);
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
  const How variants[] = {{Path::own, Mode::resident, "equal", 0, devices},
                          {Path::own, Mode::end_to_end, "dynamic", 1, devices},
                          {Path::gpu, Mode::resident, "dynamic", 2, 1},
                          {Path::gpu, Mode::end_to_end, "equal", 3, 1}};
  const std::string first = digest_of(params, variants[0]);
  for (const How& how : variants) CHECK(digest_of(params, how) == first);
}

}  // namespace

TEST_CASE(
    "empirical matrices of ragged shapes have one digest for every split, mode and kernel, in both "
    "precisions") {
  const std::tuple<unsigned, const char*, const char*> shapes[] = {
      {1000, "70", "fp32"}, {1, "70", "fp32"}, {777, "30", "fp64"}};
  for (const auto& [points, dim, precision] : shapes) {
    if (points == 1 && !testing::is_thorough()) continue;
    check_one_digest(fisher_params(points, {{"dim", dim}, {"precision", precision}}),
                     points == 1000 ? 0 : 1);
  }
  check_one_digest(fisher_params(1500, {{"dim", "65"}, {"data", "integers"}}));
  check_one_digest(fisher_params(0, {{"dim", "70"}}));
}

TEST_CASE("design matrices of logistic and softmax regression give the expected Fisher matrix") {
  check_one_digest(fisher_params(700, {{"model", "logistic"}, {"dim", "70"}}), 1);
  check_one_digest(
      fisher_params(200,
                    {{"model", "softmax"}, {"dim", "6"}, {"classes", "5"}, {"precision", "fp64"}}),
      1);
}

TEST_CASE(
    "matrices from scores drawn at each point are those of the same words in float64, one digest "
    "for all") {
  const std::map<std::string, std::string> models{{"regime", "models"}, {"scores", "37"}};
  using Model = std::pair<const char*, const char*>;
  for (const auto& [model, dim] : testing::first_when_quick<Model>(
           3, {{"softmax", "10"}, {"logistic", "27"}, {"gaussian", "72"}, {"softmax", "70"}})) {
    auto options = models;
    options["model"] = model;
    options["dim"] = dim;
    check_one_digest(fisher_params(300, options), 1);
  }
}

// A kernel for each takes a third of a second to build: those left out (normal-variance,
// exponential, Laplace, binomial) differ from one here by a factor, and every run of the suite
// verifies its own. By the GPUs' only where it is another one: fp64 keeps places, fp32 finds them.
// The quick tier has those of which the next test has no values.
TEST_CASE("closed forms are right, one digest for all") {
  using Family = std::tuple<const char*, const char*, const char*>;
  const auto families = testing::first_when_quick<Family>(4, {{"normal", "fp32", "auto"},
                                                              {"poisson", "fp32", "auto"},
                                                              {"dirichlet", "fp64", "19"},
                                                              {"categorical", "fp32", "100"},
                                                              {"categorical-free", "fp32", "19"},
                                                              {"gamma", "fp64", "auto"},
                                                              {"gamma-mean", "fp32", "auto"},
                                                              {"beta", "fp32", "auto"},
                                                              {"geometric", "fp64", "auto"}});
  for (const auto& [family, precision, dim] : families) {
    const std::string name = family;
    const SuiteParams params = fisher_params(
        700, {{"regime", "closed"}, {"family", name}, {"precision", precision}, {"dim", dim}});
    const std::string first = digest_of(params, {Path::own, Mode::end_to_end, "dynamic", 1, 1});
    if (name == "beta" || name == "dirichlet" || name == "categorical")
      CHECK(digest_of(params, {Path::gpu, Mode::resident, "equal", 0, 1}) == first);
  }
}

namespace {

// A file of `rows` that is gone at the end.
template <class Real>
class InFile {
 public:
  explicit InFile(const std::vector<std::vector<double>>& rows) {
    std::vector<Real> all;
    for (const auto& row : rows) all.insert(all.end(), row.begin(), row.end());
    write_npy(path_, {rows.size(), rows.front().size(), sizeof(Real)},
              std::as_bytes(std::span(all)));
  }
  ~InFile() { std::filesystem::remove(path_); }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_ =
      std::filesystem::temp_directory_path() / "mgpu-bench-test-fisher-edge.npy";
};

template <class Real>
std::string digest_at(const std::map<std::string, std::string>& options,
                      const std::vector<std::vector<double>>& rows, const How& how) {
  const InFile<Real> file(rows);
  auto given = options;
  given["precision"] = sizeof(Real) == 8 ? "fp64" : "fp32";
  given["dim"] = std::to_string(rows.front().size());
  SuiteParams params = fisher_params(rows.size(), given);
  params.input = file.path();
  return digest_of(params, how);
}

}  // namespace

// Where textbook formulas cancel, and near the ends of the range: all are held against the
// reference, to 16 units in the last place and little more.
TEST_CASE(
    "closed forms keep their digits where one parameter outweighs the others, and at the ends of "
    "the range") {
  struct Edge {
    const char* family;
    std::vector<std::vector<double>> rows;
    bool by_gpus_kernel;
  };
  const Edge edges[] = {
      {"gamma", {{2e-19, 1}, {1e-10, 1e-15}, {1e30, 1e20}, {3.999, 2}, {4, 2}}, false},
      {"gamma-mean",
       {{2e-19, 1}, {1e-5, 3}, {3.999, 2}, {4, 2}, {1e3, 2}, {1e10, 2}, {7.99, 1}, {8, 1}},
       false},
      {"beta",
       {{1e5, 1e-3},
        {1e-3, 1e5},
        {1e5, 1e5},
        {3, 1e-7},
        {4, 3e-8},
        {2e-19, 1e-18},
        {1e-18, 2e-19},
        {1e20, 2e-19},
        {1e-9, 1e-9},
        {1e30, 1e25},
        {8, 1e-6},
        {7.9, 2e-4}},
       true},
      {"dirichlet",
       {{1000, 1e-3, 2e-3},
        {1e-3, 1e6, 1e-4},
        {1e-15, 1e-17, 3e-17},
        {1e-12, 5, 1e-12},
        {1, 1, 2},
        {1, 1, 2.001},
        {30, 20, 9.9}},
       true},
      {"categorical",
       {{19, 0, 1},
        {0, 60, 1},
        {-80, -1, 0.5},
        {0, 0, -40},
        {1, 1, 1},
        {3e38, 0, -3e38},
        {1000, 1017, 900}},
       true},
      {"categorical-free",
       {{0.5, 0.25, 0.249999},
        {0.9999, 0.00005, 0.00004},
        {1e-30, 0.5, 0.25},
        {0.333333, 0.333333, 0.333333}},
       true},
      {"geometric", {{0.999999}, {2e-19}, {0.5}}, false},
  };
  for (const auto& [family, rows, by_gpus_kernel] : edges) {
    const std::map<std::string, std::string> options{{"regime", "closed"}, {"family", family}};
    const How own{Path::own, Mode::resident, "equal", 0, 1},
        gpu{Path::gpu, Mode::resident, "equal", 0, 1};
    const std::string fp32 = digest_at<float>(options, rows, own);
    if (by_gpus_kernel) CHECK(digest_at<float>(options, rows, gpu) == fp32);
    if (!testing::is_thorough() && family != std::string_view("beta")) continue;
    const std::string fp64 = digest_at<double>(options, rows, own);
    if (by_gpus_kernel) CHECK(digest_at<double>(options, rows, gpu) == fp64);
  }
}

TEST_CASE(
    "scores whose products leave fp32 give the F that float64 holds, and what that does not hold "
    "is not computed") {
  std::vector<std::vector<double>> rows;
  for (int r = 0; r < 90; ++r)
    rows.push_back({1e19 * (r % 7 - 3), 1e-25 * (r % 5 + 1), 0.5 * (r % 3), 1e30 * (r % 11)});
  for (const How& how : {How{Path::own, Mode::resident, "equal", 0, 0},
                         How{Path::own, Mode::end_to_end, "dynamic", 1, 0}})
    digest_at<float>({}, rows, how);
  const InFile<float> file(rows);
  SuiteParams params = fisher_params(90, {{"dim", "4"}});
  params.input = file.path();
  fisher::GramWorkload workload(params);
  testing::Programs made = testing::make_programs(workload, Mode::resident, Path::own, 0, 1);
  workload.begin_sample();
  testing::take_sample(workload, made, "equal", Mode::resident);
  const auto out = std::filesystem::temp_directory_path() / "mgpu-bench-test-fisher-f.npy";
  workload.write_result(out);
  std::vector<double> f(16);
  read_npy(out, {4, 4, 8}, std::as_writable_bytes(std::span(f)));
  std::filesystem::remove(out);
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t j = 0; j < 4; ++j) {
      double sum = 0, magnitude = 0;
      for (const auto& row : rows) {
        const double product = static_cast<double>(static_cast<float>(row[i])) *
                               static_cast<double>(static_cast<float>(row[j]));
        sum += product / 90;
        magnitude += std::abs(product) / 90;
      }
      CHECK(std::abs(f[i * 4 + j] - sum) <= 4e-6 * magnitude);
    }
  }
  const InFile<double> beyond(std::vector<std::vector<double>>{{1e155, 1}, {1, 2}});
  SuiteParams wide = fisher_params(2, {{"dim", "2"}, {"precision", "fp64"}});
  wide.input = beyond.path();
  const fisher::GramWorkload refused(wide);
  const Capacity capacity =
      refused.capacity(testing::machine().open[0]->resources().traits(), Mode::resident);
  CHECK(capacity.fits == 0);
  CHECK(capacity.reason.find("float64") != std::string::npos);
}

TEST_CASE("NaN and infinities in scores reach the elements they belong to, and no others") {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / "mgpu-bench-test-fisher.npy";
  std::vector<float> x(200 * 70, 0.5f);
  x[3 * 70 + 2] = std::numeric_limits<float>::quiet_NaN();
  x[150 * 70 + 5] = std::numeric_limits<float>::infinity();
  write_npy(file, {200, 70, 4}, std::as_bytes(std::span(x)));
  SuiteParams params = fisher_params(200);
  params.input = file;
  check_one_digest(params);
  std::filesystem::remove(file);
}
