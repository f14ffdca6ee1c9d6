// Products on the devices there are, bit for bit against a chain of fma on the host: every axis,
// ragged shapes, both kernel paths, and what BLAS says of zeros, NaN and infinities.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <random>

#include "lib/exec/cl_backend.hpp"
#include "lib/exec/executor.hpp"
#include "lib/plan/strategy.hpp"
#include "lib/workload/npy.hpp"
#include "suites/matrix/matrix_workload.hpp"
#include "suites/suites.hpp"
#include "tests/support/machine.hpp"
#include "tests/support/thorough.hpp"

#ifdef MGPU_WITH_OPENBLAS
#include <cblas.h>
#endif

using namespace mgpu;
using namespace mgpu::testing;

namespace {

struct Asked {
  std::uint64_t rows = 1, columns = 1, inner = 1;
  std::string precision = "fp32", axis = "rows", alpha = "1", beta = "0", data = "uniform",
              kernel = "auto";
  Path path = Path::own;
  Mode mode = Mode::resident;
  std::string strategy = "equal";
  Items pipeline = 0;
};

SuiteParams params_of(const Asked& asked) {
  SuiteParams params;
  params.size = asked.rows;
  params.seed = 5;
  params.host_threads = 2;
  params.options = {{"precision", asked.precision},
                    {"axis", asked.axis},
                    {"cols", std::to_string(asked.columns)},
                    {"inner", std::to_string(asked.inner)},
                    {"alpha", asked.alpha},
                    {"beta", asked.beta},
                    {"data", asked.data},
                    {"kernel", asked.kernel}};
  return params;
}

void wait(OpenDevice& device) {
  const BatchId batch = device.submit();
  while (!device.complete(batch)) {
  }
  device.take(batch);
}

// One sample, published; verified with both levels.
void compute(matrix::MatrixWorkload& workload, const Asked& asked) {
  Machine& here = machine();
  std::vector<std::unique_ptr<DeviceProgram>> programs;
  std::vector<DeviceEstimate> estimates;
  SampleRequest request;
  for (std::uint32_t i = 0; i < here.open.size(); ++i) {
    OpenDevice& device = *here.open[i];
    AsGpu disguised(device.resources());
    DeviceResources& resources =
        asked.path == Path::gpu ? static_cast<DeviceResources&>(disguised) : device.resources();
    Capacity capacity = workload.capacity(resources.traits(), asked.mode);
    REQUIRE(capacity.fits > 0);
    if (asked.pipeline > 0) capacity.pipeline = std::min(asked.pipeline, capacity.fits);
    programs.push_back(workload.program(resources, asked.mode, capacity));
    if (asked.mode == Mode::resident) {
      programs.back()->load(device.stream());
      wait(device);
    }
    DeviceEstimate estimate;
    estimate.items_per_s = 1;
    estimate.score = 10;
    estimate.fits = capacity.fits;
    estimate.pipeline = capacity.pipeline;
    estimates.push_back(estimate);
    request.members.push_back({&device, programs.back().get()});
  }
  const Shape& shape = workload.shape();
  PlanRequest plan;
  plan.items = shape.items;
  plan.granularity = shape.granularity;
  plan.mode = asked.mode;
  plan.cost = shape.cost;
  plan.devices = estimates;
  const StrategyChoice choice = parse_strategies(asked.strategy).front();
  const auto source = choice.info->make(choice.params)->begin(plan, {});
  request.workload = &workload;
  request.source = source.get();
  const RawSample sample = here.executor->run(request);
  REQUIRE_MESSAGE(!sample.failure, (sample.failure ? sample.failure->what() : ""));
  for (std::size_t i = 0; i < programs.size(); ++i) {
    programs[i]->publish(here.open[i]->stream());
    wait(*here.open[i]);
    programs[i]->published();
  }
}

template <class Real>
const Real* values(std::span<const std::byte> bytes) {
  return reinterpret_cast<const Real*>(bytes.data());
}

// How many elements of C are not the bits that the chain of fma gives; NaN equals NaN.
template <class Real>
std::size_t wrong_elements(const matrix::MatrixWorkload& workload) {
  const matrix::Problem& problem = workload.problem();
  const Real *a = values<Real>(workload.operands().a()), *b = values<Real>(workload.operands().b()),
             *c = values<Real>(workload.operands().c());
  const Real* c_in = problem.reads_c() ? values<Real>(workload.operands().c_in()) : nullptr;
  const auto alpha = static_cast<Real>(problem.alpha), beta = static_cast<Real>(problem.beta);
  std::size_t wrong = 0;
  for (std::uint64_t i = 0; i < problem.rows; ++i) {
    for (std::uint64_t j = 0; j < problem.columns; ++j) {
      Real sum = 0;
      for (std::uint64_t k = 0; k < problem.inner && alpha != 0; ++k)
        sum = std::fma(a[i * problem.inner + k], b[k * problem.columns + j], sum);
      const std::uint64_t at = i * problem.columns + j;
      const Real expected = c_in != nullptr ? std::fma(alpha, sum, beta * c_in[at]) : alpha * sum;
      if (std::isnan(expected) && std::isnan(c[at])) continue;
      wrong += std::memcmp(&expected, &c[at], sizeof expected) != 0;
    }
  }
  return wrong;
}

void check(const Asked& asked) {
  CAPTURE(asked.rows);
  CAPTURE(asked.columns);
  CAPTURE(asked.inner);
  CAPTURE(asked.precision);
  CAPTURE(asked.axis);
  CAPTURE(asked.strategy);
  CAPTURE(to_string(asked.mode));
  CAPTURE((asked.path == Path::gpu));
  matrix::MatrixWorkload workload(params_of(asked));
  compute(workload, asked);
  CHECK((asked.precision == "fp32" ? wrong_elements<float>(workload)
                                   : wrong_elements<double>(workload)) == 0);
  const Verdict verdict = workload.verify(VerifyLevel::full, 3);
  CHECK_MESSAGE(verdict.status == Verdict::Status::passed, verdict.message);
}

}  // namespace

TEST_CASE(
    "products of ragged shapes are the chain of fma bit for bit, by every axis, in both modes and "
    "precisions, on both kernel "
    "paths") {
  for (const Path path : {Path::own, Path::gpu}) {
    for (const char* precision : {"fp32", "fp64"}) {
      for (const char* axis : {"rows", "cols", "tiles"}) {
        // Each pair of axis and mode in one precision, as each is a kernel of its own, which PoCL
        // compiles for seconds.
        const bool resident =
            (precision == std::string_view("fp32")) != (axis == std::string_view("cols"));
        // In the quick tier on one path, which then has one of the modes.
        if (!testing::is_thorough() && resident != (path == Path::own)) continue;
        Asked asked{97, 135, 43};
        asked.precision = precision;
        asked.axis = axis;
        asked.mode = resident ? Mode::resident : Mode::end_to_end;
        asked.path = path;
        asked.pipeline = 2;
        asked.beta = resident ? "0" : "-0.75";
        asked.alpha = resident ? "1" : "2.5";
        check(asked);
      }
    }
  }
}

TEST_CASE("a product long enough for several blocks of k is the same chain, under every strategy") {
  for (const StrategyInfo& info : all_strategies()) {
    Asked asked{130, 70, 600};
    asked.strategy = info.name;
    asked.mode = Mode::end_to_end;
    asked.axis = "tiles";
    check(asked);
    asked.axis = "rows";
    asked.beta = "1";
    check(asked);
  }
}

TEST_CASE("rows, columns, scalars and aligned shapes on both kernel paths") {
  for (const Path path : {Path::own, Path::gpu}) {
    for (const auto& [rows, columns, inner] :
         {std::array{1, 200, 64}, std::array{200, 1, 64}, std::array{1, 1, 1},
          std::array{64, 64, 8}, std::array{33, 36, 1}}) {
      Asked asked;
      asked.rows = static_cast<std::uint64_t>(rows);
      asked.columns = static_cast<std::uint64_t>(columns);
      asked.inner = static_cast<std::uint64_t>(inner);
      asked.path = path;
      asked.axis = rows < columns ? "cols" : "rows";
      check(asked);
    }
  }
}

TEST_CASE(
    "larger tiles: a product of 600 x 520 takes items of 64 and agrees on both kernel paths") {
  for (const Path path : testing::first_when_quick(1, {Path::gpu, Path::own})) {
    Asked asked{600, 520, 30};
    asked.path = path;
    asked.axis = "tiles";
    asked.strategy = "dynamic";
    check(asked);
  }
}

TEST_CASE(
    "as BLAS has it: nothing to sum leaves beta C, nothing to compute is nothing, alpha 0 reads "
    "neither A nor B") {
  Asked asked{40, 50, 0};
  check(asked);
  asked.beta = "3";
  check(asked);
  asked.inner = 7;
  asked.alpha = "0";
  check(asked);
  for (const char* axis : {"rows", "cols", "tiles"}) {
    for (const Mode mode : {Mode::resident, Mode::end_to_end}) {
      Asked empty{0, 50, 20};
      empty.axis = axis;
      empty.mode = mode;
      check(empty);
      empty.rows = 30;
      empty.columns = 0;
      check(empty);
    }
  }
}

TEST_CASE("integer operands are verified exactly, and one element off by one is found") {
  Asked asked{70, 90, 33};
  asked.data = "integers";
  asked.axis = "tiles";
  matrix::MatrixWorkload workload(params_of(asked));
  compute(workload, asked);
  CHECK(wrong_elements<float>(workload) == 0);
  const Verdict verdict = workload.verify(VerifyLevel::full, 3);
  CHECK(verdict.status == Verdict::Status::passed);
  CHECK(verdict.method.find("exactly") != std::string::npos);
  reinterpret_cast<float*>(workload.memory().c().data())[41 * 90 + 17] += 1;
  const Verdict after = workload.verify(VerifyLevel::full, 3);
  CHECK(after.status == Verdict::Status::failed);
  CHECK(after.message.find("41") != std::string::npos);
}

// What a user's files may hold: bit for bit what the chain gives, and called right.
TEST_CASE("products that overflow, and products below the smallest normal number, are right") {
  for (const Path path : {Path::own, Path::gpu}) {
    for (const char* precision : {"fp32", "fp64"}) {
      const bool wide = precision == std::string("fp64");
      if (!testing::is_thorough() && wide != (path == Path::gpu)) continue;
      for (const double factor : {wide ? 1e155 : 1.5e19, wide ? 1e-156 : 1e-20}) {
        Asked asked{70, 90, 33};
        asked.precision = precision;
        asked.path = path;
        asked.axis = "tiles";
        CAPTURE(precision);
        CAPTURE(factor);
        CAPTURE((path == Path::gpu));
        matrix::MatrixWorkload workload(params_of(asked));
        for (const std::span<const std::byte> operand :
             {workload.operands().a(), workload.operands().b()}) {
          auto* const bytes = const_cast<std::byte*>(operand.data());
          for (std::size_t at = 0; at < operand.size(); at += wide ? 8 : 4)
            wide ? void(*reinterpret_cast<double*>(bytes + at) *= factor)
                 : void(*reinterpret_cast<float*>(bytes + at) *= static_cast<float>(factor));
        }
        compute(workload, asked);
        CHECK((wide ? wrong_elements<double>(workload) : wrong_elements<float>(workload)) == 0);
        const Verdict verdict = workload.verify(VerifyLevel::full, 3);
        CHECK_MESSAGE(verdict.status == Verdict::Status::passed, verdict.message);
      }
    }
  }
}

#ifdef MGPU_WITH_OPENBLAS
TEST_CASE(
    "OpenBLAS computes the same, within what two orders of summing differ by, NaN and infinities "
    "where it has them") {
  for (const char* precision : {"fp32", "fp64"}) {
    Asked asked{61, 83, 300};
    asked.precision = precision;
    asked.axis = "tiles";
    asked.alpha = "-1.5";
    asked.beta = "0.5";
    matrix::MatrixWorkload workload(params_of(asked));
    const bool wide = workload.problem().element() == 8;
    // A row of A with an infinity, of C with NaN; the operands are ours until they are uploaded.
    const auto put = [&](std::span<const std::byte> where, std::size_t at, double value) {
      auto* bytes = const_cast<std::byte*>(where.data());
      wide ? void(reinterpret_cast<double*>(bytes)[at] = value)
           : void(reinterpret_cast<float*>(bytes)[at] = static_cast<float>(value));
    };
    put(workload.operands().a(), 7 * 300 + 11, std::numeric_limits<double>::infinity());
    put(workload.operands().c_in(), 9 * 83 + 2, std::numeric_limits<double>::quiet_NaN());
    compute(workload, asked);
    const auto compare = [&]<class Real>(Real) {
      const Real *a = values<Real>(workload.operands().a()),
                 *b = values<Real>(workload.operands().b());
      const Real *c_in = values<Real>(workload.operands().c_in()),
                 *c = values<Real>(workload.operands().c());
      std::vector<Real> theirs(c_in, c_in + 61 * 83);
      if constexpr (sizeof(Real) == 4) {
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, 61, 83, 300, -1.5f, a, 300, b, 83,
                    0.5f, theirs.data(), 83);
      } else {
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, 61, 83, 300, -1.5, a, 300, b, 83,
                    0.5, theirs.data(), 83);
      }
      std::size_t different = 0;
      for (std::size_t i = 0; i < theirs.size(); ++i) {
        const bool same = std::isfinite(theirs[i]) ? std::abs(theirs[i] - c[i]) <=
                                                         600 * std::numeric_limits<Real>::epsilon()
                          : std::isnan(theirs[i]) ? std::isnan(c[i])
                                                  : theirs[i] == c[i];
        different += !same;
      }
      CHECK(different == 0);
      CHECK(std::isnan(c[9 * 83 + 2]));
      CHECK(std::isinf(c[7 * 83]));
    };
    wide ? compare(double{}) : compare(float{});
  }
}
#endif

TEST_CASE("a wrong element of a rounded product is found, and a part that did not arrive") {
  Asked asked{70, 90, 33};
  matrix::MatrixWorkload workload(params_of(asked));
  compute(workload, asked);
  REQUIRE(workload.verify(VerifyLevel::full, 3).status == Verdict::Status::passed);
  float& element = reinterpret_cast<float*>(workload.memory().c().data())[41 * 90 + 17];
  const float right = element;
  element += 0.01f;
  CHECK(workload.verify(VerifyLevel::full, 3).status == Verdict::Status::failed);
  element = right;
  CHECK(workload.verify(VerifyLevel::full, 3).status == Verdict::Status::passed);
  element = std::numeric_limits<float>::quiet_NaN();
  CHECK(workload.verify(VerifyLevel::full, 3).status == Verdict::Status::failed);
  workload.begin_sample();
  CHECK(workload.verify(VerifyLevel::full, 3).status == Verdict::Status::failed);
}

TEST_CASE("NaN and infinities of files spread as BLAS has it") {
  const auto folder = std::filesystem::temp_directory_path();
  const auto file_a = folder / ("mgpu-matrix-a-" + std::to_string(std::random_device{}()) + ".npy");
  const auto file_b = folder / ("mgpu-matrix-b-" + std::to_string(std::random_device{}()) + ".npy");
  std::vector<float> a(37 * 20, 0.5f), b(20 * 41, -2.0f);
  a[3 * 20 + 4] = std::numeric_limits<float>::quiet_NaN();
  a[9 * 20 + 19] = std::numeric_limits<float>::infinity();
  b[7 * 41 + 40] = -std::numeric_limits<float>::infinity();
  b[19 * 41 + 2] = 0;
  write_npy(file_a, {37, 20, 4}, std::as_bytes(std::span(a)));
  write_npy(file_b, {20, 41, 4}, std::as_bytes(std::span(b)));
  for (const Path path : {Path::own, Path::gpu}) {
    Asked asked;
    asked.path = path;
    SuiteParams params = params_of(asked);
    params.options["cols"] = params.options["inner"] = "same";
    params.input = file_a;
    params.more_inputs = {file_b};
    matrix::MatrixWorkload workload(params);
    compute(workload, asked);
    CHECK(workload.problem().columns == 41);
    CHECK(wrong_elements<float>(workload) == 0);
    const float* c = values<float>(workload.operands().c());
    CHECK(std::isnan(c[3 * 41]));
    CHECK(std::isnan(c[9 * 41 + 2]));
    CHECK(workload.verify(VerifyLevel::full, 3).status == Verdict::Status::passed);
  }
  std::filesystem::remove(file_a);
  std::filesystem::remove(file_b);
}
