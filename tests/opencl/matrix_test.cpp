// Products on the present devices, compared bit for bit with a chain of fma on the host: every
// axis, ragged shapes, both kernel paths, and the rules of BLAS for zeros, NaN and infinities.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <random>

#include "lib/workload/npy.hpp"
#include "suites/matrix/matrix_workload.hpp"
#include "tests/support/machine.hpp"
#include "tests/support/suite_params.hpp"
#include "tests/support/thorough.hpp"

#ifdef MGPU_WITH_OPENBLAS
#include <cblas.h>
#endif

namespace mgpu::matrix {
namespace {

using testing::How;
using testing::Path;

SuiteParams product(std::uint64_t rows, std::uint64_t columns, std::uint64_t inner,
                    test::Options more = {}) {
  more.insert({{"cols", std::to_string(columns)}, {"inner", std::to_string(inner)}});
  return test::suite_params("matrix", rows, more);
}

template <class Real>
// Operands may be written until they are uploaded.
Real* numbers(std::span<const std::byte> bytes) {
  return reinterpret_cast<Real*>(const_cast<std::byte*>(bytes.data()));
}

// Returns the number of elements of C whose bits differ from those of the chain of fma; NaN equals
// NaN.
template <class Real>
std::size_t count_wrong(const MatrixWorkload& workload) {
  const Problem& problem = workload.problem();
  const Operands& all = workload.operands();
  const Real *a = numbers<Real>(all.a()), *b = numbers<Real>(all.b()), *c = numbers<Real>(all.c());
  const Real* c_in = problem.reads_c() ? numbers<Real>(all.c_in()) : nullptr;
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

void check_product(MatrixWorkload& workload, const How& how) {
  const Problem& problem = workload.problem();
  INFO(problem.rows, " x ", problem.columns, " x ", problem.inner, " of ", problem.element());
  testing::digest_of(workload, how);
  CHECK((problem.element() == 4 ? count_wrong<float>(workload) : count_wrong<double>(workload)) ==
        0);
}

void check_product(const SuiteParams& params, const How& how = {}) {
  MatrixWorkload workload(params);
  check_product(workload, how);
}

}  // namespace

TEST_CASE("matrix: ragged products are the chain of fma by every axis, mode, precision and path") {
  // Each combination is a kernel of its own, which PoCL compiles for seconds: the quick tier has
  // those that contain every pair of choices, except those that the next tests cover.
  auto chosen = testing::one_in(5);
  for (const Path path : {Path::own, Path::gpu}) {
    for (const bool wide : {false, true}) {
      for (const char* axis : {"rows", "cols", "tiles"}) {
        if (!chosen()) continue;
        const bool resident = wide == (*axis == 'c');
        check_product(product(97, 135, 43,
                              {{"precision", wide ? "fp64" : "fp32"},
                               {"axis", axis},
                               {"alpha", resident ? "1" : "2.5"},
                               {"beta", resident ? "0" : "-0.75"}}),
                      {"equal", resident ? Mode::resident : Mode::end_to_end, path, 2});
      }
    }
  }
}

TEST_CASE("matrix: several blocks of k are the same chain, under every strategy") {
  std::size_t n = 0;
  for (const StrategyInfo& info : all_strategies())
    check_product(product(130, 70, 600, {{"axis", ++n % 2 == 0 ? "tiles" : "rows"}}),
                  {info.name, Mode::end_to_end});
}

TEST_CASE("matrix: rows, columns, scalars, aligned shapes and larger tiles, on both paths") {
  for (const auto& [rows, columns, inner] :
       {std::tuple{1, 200, 64}, {200, 1, 64}, {1, 1, 1}, {64, 64, 8}, {33, 36, 1}}) {
    check_product(product(static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(columns),
                          static_cast<std::uint64_t>(inner), {{"axis", "tiles"}}));
    if (testing::is_thorough())
      check_product(product(static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(columns),
                            static_cast<std::uint64_t>(inner), {{"axis", "cols"}}),
                    {.path = Path::gpu});
  }
  // Uses items of 64.
  check_product(product(600, 520, 30, {{"axis", "tiles"}}),
                {"dynamic", Mode::resident, Path::gpu, 0, 1});
}

TEST_CASE(
    "matrix: nothing to sum leaves beta C, nothing to compute is nothing, alpha 0 reads none") {
  check_product(product(40, 50, 0));
  check_product(product(40, 50, 0, {{"beta", "3"}}));
  check_product(product(40, 50, 7, {{"beta", "3"}, {"alpha", "0"}}));
  for (const char* axis : {"rows", "cols", "tiles"}) {
    check_product(product(0, 50, 20, {{"axis", axis}}));
    check_product(product(30, 0, 20, {{"axis", axis}}), {"equal", Mode::end_to_end});
  }
}

TEST_CASE("matrix: integer operands are verified exactly, one element off, or missing, is found") {
  MatrixWorkload workload(product(70, 90, 33, {{"data", "integers"}, {"axis", "tiles"}}));
  check_product(workload, {});
  const auto status = [&] { return workload.verify(VerifyLevel::full, 3).status; };
  numbers<float>(workload.memory().c())[41 * 90 + 17] += 1;
  CHECK(status() == Verdict::Status::failed);
  numbers<float>(workload.memory().c())[41 * 90 + 17] -= 1;
  CHECK(status() == Verdict::Status::passed);
  workload.begin_sample();
  CHECK(status() == Verdict::Status::failed);
}

// A user's files may hold such values: the result must equal the chain bit for bit, and pass
// verification.
TEST_CASE("matrix: products that overflow or are below the smallest normal number are right") {
  for (const auto& [wide, path] : {std::pair{false, Path::own}, {true, Path::own}}) {
    for (const double factor : {wide ? 1e155 : 1.5e19, wide ? 1e-156 : 1e-20}) {
      CAPTURE(factor);
      MatrixWorkload workload(
          product(70, 90, 33, {{"axis", "tiles"}, {"precision", wide ? "fp64" : "fp32"}}));
      const auto scale = [&]<class Real>(std::span<const std::byte> all, Real by) {
        for (std::size_t i = 0; i < all.size() / sizeof by; ++i) numbers<Real>(all)[i] *= by;
      };
      for (const auto all : {workload.operands().a(), workload.operands().b()})
        wide ? scale(all, factor) : scale(all, static_cast<float>(factor));
      check_product(workload, {.path = path});
    }
  }
}

#ifdef MGPU_WITH_OPENBLAS
TEST_CASE("matrix: OpenBLAS computes the same up to the order of sums, NaN and infinities alike") {
  const auto compare = []<class Real>(Real) {
    MatrixWorkload workload(product(61, 83, 300,
                                    {{"precision", sizeof(Real) == 8 ? "fp64" : "fp32"},
                                     {"axis", "tiles"},
                                     {"alpha", "-1.5"},
                                     {"beta", "0.5"}}));
    const Operands& all = workload.operands();
    const Real *a = numbers<Real>(all.a()), *b = numbers<Real>(all.b());
    const Real *c_in = numbers<Real>(all.c_in()), *c = numbers<Real>(all.c());
    numbers<Real>(all.a())[7 * 300 + 11] = std::numeric_limits<Real>::infinity();
    numbers<Real>(all.c_in())[9 * 83 + 2] = std::numeric_limits<Real>::quiet_NaN();
    check_product(workload, {});
    std::vector<Real> theirs(c_in, c_in + 61 * 83);
    if constexpr (sizeof(Real) == 4) {
      cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, 61, 83, 300, -1.5f, a, 300, b, 83,
                  0.5f, theirs.data(), 83);
    } else {
      cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, 61, 83, 300, -1.5, a, 300, b, 83, 0.5,
                  theirs.data(), 83);
    }
    std::size_t different = 0;
    constexpr Real most = 600 * std::numeric_limits<Real>::epsilon();
    for (std::size_t i = 0; i < theirs.size(); ++i) {
      if (std::isfinite(theirs[i])) {
        different += !(std::abs(theirs[i] - c[i]) <= most);
      } else {
        different += std::isnan(theirs[i]) ? !std::isnan(c[i]) : theirs[i] != c[i];
      }
    }
    CHECK(different == 0);
    CHECK((std::isnan(c[9 * 83 + 2]) && std::isinf(c[7 * 83])));
  };
  compare(float{});
  compare(double{});
}
#endif

TEST_CASE("matrix: NaN and infinities of files spread as BLAS has it") {
  const auto folder = std::filesystem::temp_directory_path();
  const auto name = "mgpu-matrix-" + std::to_string(std::random_device{}());
  const auto file_a = folder / (name + "-a.npy"), file_b = folder / (name + "-b.npy");
  std::vector<float> a(37 * 20, 0.5f), b(20 * 41, -2.0f);
  a[3 * 20 + 4] = std::numeric_limits<float>::quiet_NaN();
  a[9 * 20 + 19] = std::numeric_limits<float>::infinity();
  b[7 * 41 + 40] = -std::numeric_limits<float>::infinity();
  b[19 * 41 + 2] = 0;
  write_npy(file_a, {37, 20, 4}, std::as_bytes(std::span(a)));
  write_npy(file_b, {20, 41, 4}, std::as_bytes(std::span(b)));
  SuiteParams params = test::suite_params("matrix", 37, {{"axis", "tiles"}});
  params.input = file_a;
  params.more_inputs = {file_b};
  MatrixWorkload workload(params);
  check_product(workload, {});
  CHECK(workload.problem().columns == 41);
  const float* c = numbers<float>(workload.operands().c());
  CHECK((std::isnan(c[3 * 41]) && std::isnan(c[9 * 41 + 2])));
  std::filesystem::remove(file_a);
  std::filesystem::remove(file_b);
}

}  // namespace mgpu::matrix
