// Fisher matrices on the present devices: every regime in both modes compared with the references.
// The bits must not depend on the strategy, the slices or the kernels (those for CPUs, and those
// for GPUs, which run on any device).
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "lib/opencl/cl_backend.hpp"
#include "lib/workload/npy.hpp"
#include "lib/workload/splitmix64.hpp"
#include "suites/fisher/gram_workload.hpp"
#include "suites/fisher/points_workload.hpp"
#include "tests/support/machine.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/suite_params.hpp"
#include "tests/support/thorough.hpp"

namespace mgpu::fisher {
namespace {

using test::Options;
using testing::How;
using testing::Path;

SuiteParams params_with(std::uint64_t points, const Options& given) {
  return test::suite_params("fisher", points, given);
}

std::string digest_of(const SuiteParams& params, const How& how) {
  std::string given;
  for (const auto& [name, value] : params.options) given += name + '=' + value + ' ';
  INFO(params.size, " ", given);
  return testing::digest_of(*test::suite_named("fisher").make(params), how);
}

// Checks that the digest is the same by the devices' own kernels, on all devices or the first, and
// by the kernels for GPUs on one, as each device builds them.
void check_one_digest(const SuiteParams& params, std::size_t devices = 1, bool by_gpus = true) {
  const std::string first = digest_of(params, {"equal", Mode::resident, Path::own, 0, devices});
  CHECK(digest_of(params, {"dynamic", Mode::end_to_end, Path::own, 1, devices}) == first);
  if (!by_gpus) return;
  CHECK(digest_of(params, {"dynamic", Mode::resident, Path::gpu, 2, 1}) == first);
  CHECK(digest_of(params, {"equal", Mode::end_to_end, Path::gpu, 3, 1}) == first);
}

}  // namespace

TEST_CASE("fisher: empirical matrices have one digest for every split, mode and kernel") {
  check_one_digest(params_with(1000, {{"dim", "70"}}), 0);
  check_one_digest(params_with(1500, {{"dim", "65"}, {"data", "integers"}}), 0, false);
  check_one_digest(params_with(0, {{"dim", "70"}}), 0, false);
  if (!testing::is_thorough()) return;
  check_one_digest(params_with(1, {{"dim", "70"}}));
  check_one_digest(params_with(777, {{"dim", "30"}, {"precision", "fp64"}}));
}

TEST_CASE("fisher: a device without fp64 computes the same bits, in integers") {
  for (const Options& options : testing::first_when_quick<Options>(
           1, {{{"dim", "37"}}, {{"dim", "6"}, {"model", "softmax"}, {"classes", "5"}}})) {
    const SuiteParams params = params_with(600, options);
    CHECK(digest_of(params, {"equal", Mode::resident, Path::gpu_without_fp64, 0, 1}) ==
          digest_of(params, {"equal", Mode::resident, Path::own, 0, 1}));
  }
}

TEST_CASE("fisher: sums and quotients in integers have the bits of fp64, also at its limits") {
  std::vector<EmbeddedText> kernels{
      {"soft_test.cl",
       "#include \"soft_fp64.cl\"\n"
       "__kernel void soft(__global const ulong* a, __global const ulong* b, __global ulong* out) "
       "{\n"
       "  const uint i = get_global_id(0);\n"
       "  out[3 * i] = soft_add(a[i], b[i]);\n"
       "  out[3 * i + 1] = soft_divide(a[i], as_ulong(1.0) + ((ulong)i << 20));\n"
       "  out[3 * i + 2] = soft_from_float(as_float((uint)(a[i] >> 32)));\n"
       "}\n"}};
  for (const EmbeddedText& each : embedded_kernels()) kernels.push_back(each);
  std::vector<std::uint64_t> edges{0,
                                   1,
                                   0x000fffffffffffff,
                                   0x0010000000000000,
                                   0x0010000000000001,
                                   0x3ff0000000000000,
                                   0x3ff0000000000001,
                                   0x3cb0000000000000,
                                   0x3ca0000000000001,
                                   0x7fefffffffffffff,
                                   0x7c9fffffffffffff,
                                   0x7ff0000000000000,
                                   0x7ff8000000000000};
  for (std::size_t i = 0, count = edges.size(); i < count; ++i)
    edges.push_back(edges[i] | std::uint64_t{1} << 63);
  std::vector<std::uint64_t> a, b;
  for (const std::uint64_t x : edges)
    for (const std::uint64_t y : edges) a.push_back(x), b.push_back(y);
  for (std::uint64_t i = 0; i < 20000; ++i) {
    const std::uint64_t x = splitmix64(7, 2 * i), y = splitmix64(7, 2 * i + 1);
    a.push_back(x);
    // Half of them are as large as the other number, so that digits cancel.
    b.push_back(
        i % 2 == 0 ? y : (y & 0x800fffffffffffff) | ((x + (y >> 60 << 52)) & 0x7ff0000000000000));
  }
  const auto backend = make_cl_backend({kernels, {}});
  const auto open = backend->open(backend->enumerate().devices.front());
  DeviceResources& device = open->resources();
  const auto kernel = device.kernel("soft_test.cl", "soft", "");
  const auto da = device.allocate(8 * a.size()), db = device.allocate(8 * a.size()),
             dout = device.allocate(24 * a.size());
  std::vector<std::uint64_t> out(3 * a.size());
  device.try_out([&](Stream& stream) {
    stream.upload(*da, 0, std::as_bytes(std::span(a)));
    stream.upload(*db, 0, std::as_bytes(std::span(b)));
    stream.launch(*kernel, {{a.size(), 1, 1}, {1, 1, 1}}, {da.get(), db.get(), dout.get()});
    stream.download(*dout, 0, std::as_writable_bytes(std::span(out)));
  });
  const auto same = [](std::uint64_t found, double expected) {
    return std::isnan(expected) ? std::isnan(std::bit_cast<double>(found))
                                : found == std::bit_cast<std::uint64_t>(expected);
  };
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto x = std::bit_cast<double>(a[i]), y = std::bit_cast<double>(b[i]);
    const auto divisor =
        std::bit_cast<double>(std::bit_cast<std::uint64_t>(1.0) + (std::uint64_t{i} << 20));
    const auto narrow = std::bit_cast<float>(static_cast<std::uint32_t>(a[i] >> 32));
    wrong += !same(out[3 * i], x + y) + !same(out[3 * i + 1], x / divisor) +
             !same(out[3 * i + 2], static_cast<double>(narrow));
  }
  CHECK(wrong == 0);
}

TEST_CASE("fisher: design matrices of logistic and softmax regression give the expected matrix") {
  const auto all = testing::first_when_quick<Options>(
      1, {{{"model", "softmax"}, {"dim", "6"}, {"classes", "5"}, {"precision", "fp64"}},
          {{"model", "logistic"}, {"dim", "70"}}});
  for (const Options& options : all)
    check_one_digest(params_with(options.contains("classes") ? 200 : 700, options), 1,
                     testing::is_thorough());
}

TEST_CASE("fisher: matrices from scores drawn at each point are those of the same words in fp64") {
  using ModelCase = std::pair<const char*, const char*>;
  for (const auto& [model, dim] : testing::first_when_quick<ModelCase>(
           2, {{"softmax", "10"}, {"gaussian", "72"}, {"logistic", "27"}, {"softmax", "70"}}))
    check_one_digest(
        params_with(300, {{"regime", "models"}, {"scores", "37"}, {"model", model}, {"dim", dim}}));
}

// Building a kernel for each family takes a third of a second. The families left out
// (normal-variance, exponential, Laplace, binomial) differ from one here by a factor, and every run
// of the suite verifies its own. The GPUs' kernels run only if they differ: fp64 stores places,
// fp32 finds them. The quick tier has the families that the next test does not cover.
TEST_CASE("fisher: closed forms are right, one digest for all") {
  using FamilyCase = std::tuple<const char*, const char*, const char*>;
  for (const auto& [name, precision, dim] :
       testing::first_when_quick<FamilyCase>(3, {{"normal", "fp32", "auto"},
                                                 {"poisson", "fp32", "auto"},
                                                 {"dirichlet", "fp64", "19"},
                                                 {"categorical", "fp32", "100"},
                                                 {"categorical-free", "fp32", "19"},
                                                 {"gamma", "fp64", "auto"},
                                                 {"gamma-mean", "fp32", "auto"},
                                                 {"beta", "fp32", "auto"},
                                                 {"geometric", "fp64", "auto"}})) {
    const std::string family = name;
    const SuiteParams params = params_with(
        700, {{"regime", "closed"}, {"family", family}, {"precision", precision}, {"dim", dim}});
    const std::string first = digest_of(params, {"dynamic", Mode::end_to_end, Path::own, 1, 1});
    if (family == "beta" || family == "dirichlet" || family == "categorical")
      CHECK(digest_of(params, {"equal", Mode::resident, Path::gpu, 0, 1}) == first);
  }
}

namespace {

using Rows = std::vector<std::vector<double>>;

// A file of rows that is removed by the destructor.
template <class Real>
class RowsFile {
 public:
  explicit RowsFile(const Rows& rows) {
    std::vector<Real> all;
    for (const auto& row : rows) all.insert(all.end(), row.begin(), row.end());
    write_npy(path_, {rows.size(), rows.front().size(), sizeof(Real)},
              std::as_bytes(std::span(all)));
  }
  ~RowsFile() { std::filesystem::remove(path_); }
  SuiteParams params(const Rows& rows, Options given = {}) const {
    given["precision"] = sizeof(Real) == 8 ? "fp64" : "fp32";
    given["dim"] = std::to_string(rows.front().size());
    SuiteParams made = params_with(rows.size(), given);
    made.input = path_;
    return made;
  }

 private:
  std::filesystem::path path_ = std::filesystem::temp_directory_path() / "mgpu-test-fisher.npy";
};

}  // namespace

// Tests values at which textbook formulas cancel and values near the ends of the range, compared
// with the reference to little more than 16 units in the last place.
TEST_CASE("fisher: closed forms keep their digits at the ends of the range" *
          testing::if_thorough()) {
  struct Edges {
    const char* family;
    Rows rows;
    bool by_gpus_kernel;
  };
  const Edges all[] = {
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
      {"categorical",
       {{19, 0, 1},
        {0, 60, 1},
        {-80, -1, 0.5},
        {0, 0, -40},
        {1, 1, 1},
        {3e38, 0, -3e38},
        {1000, 1017, 900}},
       true},
      {"gamma-mean",
       {{2e-19, 1}, {1e-5, 3}, {3.999, 2}, {4, 2}, {1e3, 2}, {1e10, 2}, {7.99, 1}, {8, 1}},
       false},
      {"dirichlet",
       {{1000, 1e-3, 2e-3},
        {1e-3, 1e6, 1e-4},
        {1e-15, 1e-17, 3e-17},
        {1e-12, 5, 1e-12},
        {1, 1, 2},
        {1, 1, 2.001},
        {30, 20, 9.9}},
       true},
      {"gamma", {{2e-19, 1}, {1e-10, 1e-15}, {1e30, 1e20}, {3.999, 2}, {4, 2}}, false},
      {"categorical-free",
       {{0.5, 0.25, 0.249999},
        {0.9999, 0.00005, 0.00004},
        {1e-30, 0.5, 0.25},
        {0.333333, 0.333333, 0.333333}},
       true},
      {"geometric", {{0.999999}, {2e-19}, {0.5}}, false}};
  const How own{"equal", Mode::resident, Path::own, 0, 1},
      gpu{"equal", Mode::resident, Path::gpu, 0, 1};
  for (const Edges& each : all) {
    const Options options{{"regime", "closed"}, {"family", each.family}};
    const RowsFile<float> narrow(each.rows);
    const std::string fp32 = digest_of(narrow.params(each.rows, options), own);
    if (each.by_gpus_kernel && testing::is_thorough())
      CHECK(digest_of(narrow.params(each.rows, options), gpu) == fp32);
    if (!testing::is_thorough() && &each != all) continue;
    const RowsFile<double> wide(each.rows);
    const std::string fp64 = digest_of(wide.params(each.rows, options), own);
    if (each.by_gpus_kernel) CHECK(digest_of(wide.params(each.rows, options), gpu) == fp64);
  }
}

TEST_CASE("fisher: scores whose products leave fp32 give what float64 holds, else are refused") {
  Rows rows;
  for (int r = 0; r < 90; ++r)
    rows.push_back({1e19 * (r % 7 - 3), 1e-25 * (r % 5 + 1), 0.5 * (r % 3), 1e30 * (r % 11)});
  const RowsFile<float> file(rows);
  GramWorkload workload(file.params(rows));
  testing::digest_of(workload, {"dynamic", Mode::end_to_end, Path::own, 1});
  const auto out = std::filesystem::temp_directory_path() / "mgpu-test-fisher-f.npy";
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
  const Rows too_large{{1e155, 1}, {1, 2}};
  const GramWorkload refused(RowsFile<double>(too_large).params(too_large));
  const Capacity capacity =
      refused.capacity(testing::machine().open[0]->resources().traits(), Mode::resident);
  CHECK((capacity.fits == 0 && test::has(capacity.reason, "float64")));
}

TEST_CASE("fisher: NaN and infinities in scores reach the elements they belong to, and no others") {
  Rows rows(200, std::vector<double>(70, 0.5));
  rows[3][2] = std::numeric_limits<double>::quiet_NaN();
  rows[150][5] = std::numeric_limits<double>::infinity();
  const RowsFile<float> file(rows);
  check_one_digest(file.params(rows), 0);
}

}  // namespace mgpu::fisher
