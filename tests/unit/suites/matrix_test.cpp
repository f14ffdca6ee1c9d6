// Division of C into items and tiles, memory and kernels of devices, refusals; and the reference's
// verdict on products at the ends of the range: a chain of fma in IEEE arithmetic passes, nothing
// else does.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <set>

#include "suites/common/wave.hpp"
#include "suites/matrix/layout.hpp"
#include "suites/matrix/operands.hpp"
#include "suites/matrix/problem.hpp"
#include "suites/matrix/reference.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/suite_params.hpp"
#include "tests/support/thorough.hpp"

namespace mgpu::matrix {
namespace {

using test::has;

SuiteParams params_with(std::uint64_t rows, const test::Options& given = {}) {
  return test::suite_params("matrix", rows, given, 7);
}

DeviceTraits matrix_gpu() {
  DeviceTraits traits;
  traits.max_work_group = 1024;
  traits.global_memory = Bytes{8} << 30;
  traits.max_allocation = Bytes{2} << 30;
  traits.local_memory = 48 << 10;
  traits.fp64 = true;
  return traits;
}

Capacity given(const DeviceTraits& device, const Problem& problem, const Geometry& geometry,
               Mode mode) {
  return capacity(device, problem, geometry, mode, variants(device, problem, geometry));
}

std::uint64_t area(const std::vector<Rect>& rects) {
  std::uint64_t sum = 0;
  for (const Rect& rect : rects) sum += rect.rows * rect.columns;
  return sum;
}

}  // namespace

TEST_CASE("matrix: every element of C is in exactly one item, by every axis, for any shape") {
  for (const Axis axis : {Axis::rows, Axis::cols, Axis::tiles}) {
    for (const auto& [rows, columns] :
         {std::pair{97u, 135u}, {1u, 1000u}, {1000u, 1u}, {32u, 32u}, {700u, 530u}, {33u, 2000u}}) {
      const auto& this_rows = rows;
      const auto& this_columns = columns;
      INFO(this_rows, " ", this_columns);
      const Geometry geometry = Geometry::of(rows, columns, axis);
      std::vector<int> seen(std::size_t{rows} * columns, 0);
      for (Items item = 0; item < geometry.items(); ++item) {
        const Rect rect = geometry.rect(item);
        for (std::uint64_t i = rect.row; i < rect.row + rect.rows; ++i) {
          for (std::uint64_t j = rect.column; j < rect.column + rect.columns; ++j)
            ++seen[i * columns + j];
        }
      }
      CHECK(std::count(seen.begin(), seen.end(), 1) == static_cast<std::ptrdiff_t>(seen.size()));
    }
  }
}

TEST_CASE("matrix: a range of tiles is covered by few rectangles of the right area, however cut") {
  const Geometry geometry = Geometry::of(1300, 900, Axis::tiles);
  REQUIRE(geometry.items() == 21 * 15);
  std::uint64_t fewest = geometry.items();
  const Items step = testing::is_thorough() ? 5 : 23;
  for (Items begin = 0; begin < geometry.items(); begin += 7 * step / 5) {
    for (Items end = begin + 1; end <= geometry.items(); end += step) {
      std::uint64_t sum = 0;
      for (Items item = begin; item < end; ++item) sum += area({geometry.rect(item)});
      const auto rects = geometry.cover(begin, end);
      CHECK(area(rects) == sum);
      CHECK(rects.size() <= std::min<std::uint64_t>(end - begin, 30));
      fewest = std::min<std::uint64_t>(fewest, rects.size());
    }
  }
  CHECK(fewest == 1);
  CHECK(geometry.cover(0, geometry.items()) == std::vector<Rect>{{0, 1300, 0, 900}});
}

TEST_CASE(
    "matrix: the table of tiles has every tile of the kernel once, those of an item together") {
  for (const Axis axis : {Axis::rows, Axis::cols, Axis::tiles}) {
    const Geometry geometry = Geometry::of(700, 530, axis);
    REQUIRE(geometry.edge() == 64);
    const TileTable table = tile_table(geometry, 64, 32);
    const std::set<std::uint32_t> all(table.tiles.begin(), table.tiles.end());
    CHECK(all.size() == table.tiles.size());
    CHECK(all.size() == 11u * 17u);
    REQUIRE(table.first.size() == geometry.items() + 1);
    for (Items item = 0; item < geometry.items(); ++item) {
      const Rect rect = geometry.rect(item);
      for (std::uint32_t at = table.first[item]; at < table.first[item + 1]; ++at) {
        const std::uint64_t row = (table.tiles[at] >> 16) * 64,
                            column = (table.tiles[at] & 0xffff) * 32;
        CHECK((row >= rect.row && row < rect.row + rect.rows && column >= rect.column &&
               column < rect.column + rect.columns));
      }
    }
  }
}

TEST_CASE("matrix: a wave gathers the rows and columns its items touch, once and in order") {
  for (const auto& [rows, columns] : {std::pair{1300u, 900u}, {50u, 3000u}, {3000u, 33u}}) {
    const Geometry geometry = Geometry::of(rows, columns, Axis::tiles);
    const std::uint64_t edge = geometry.edge();
    for (const Items size : {Items{1}, Items{7}, geometry.items() / 3, geometry.items()}) {
      const WaveSize largest = largest_wave(geometry, size);
      for (Items begin = 0; begin + size <= geometry.items();
           begin += testing::is_thorough() ? 11 : 53) {
        const Wave wave = wave_of(geometry, begin, begin + size, 32, 32);
        std::uint64_t tiles = 0, to = 0;
        for (const Stretch& stretch : wave.rows) {
          CHECK(stretch.to == to);
          CHECK((stretch.from % edge == 0 && stretch.from + stretch.count <= rows));
          to += stretch.count;
        }
        CHECK(wave.row_count == to);
        CHECK(
            (wave.row_count <= largest.rows * edge && wave.column_count <= largest.columns * edge));
        std::set<std::uint32_t> seen(wave.tiles.begin(), wave.tiles.end());
        for (Items item = begin; item < begin + size; ++item) {
          const Rect rect = geometry.rect(item);
          const std::uint64_t row = wave.place_of_row(rect.row),
                              column = wave.place_of_column(rect.column);
          CHECK(seen.contains(static_cast<std::uint32_t>(row / 32 << 16 | column / 32)));
          tiles += (rect.rows + 31) / 32 * ((rect.columns + 31) / 32);
        }
        CHECK(seen.size() == wave.tiles.size());
        CHECK(wave.tiles.size() == tiles);
      }
    }
  }
}

TEST_CASE(
    "matrix: a preferred variant comes first where the problem has it, else nothing changes") {
  const DeviceTraits device = matrix_gpu();
  const Problem problem = problem_of(params_with(2048));
  const Geometry geometry = Geometry::of(2048, 2048, Axis::rows);
  const auto usual = variants(device, problem, geometry);
  REQUIRE(usual.size() >= 2);
  const auto other = variants(device, problem, geometry, usual.back().name());
  CHECK(other.front().name() == usual.back().name());
  CHECK(other.size() == usual.size());
  CHECK(variants(device, problem, geometry, "packed by hand").front().name() ==
        usual.front().name());
  CHECK(is_a_variant(device, Precision::fp32, usual.back().name()));
  CHECK_FALSE(is_a_variant(device, Precision::fp32, "packed by hand"));
}

TEST_CASE("matrix: a product whose tiles are all on the device at once takes more stages") {
  const auto first_of = [](std::uint64_t size, std::uint32_t compute_units) {
    DeviceTraits device = matrix_gpu();
    device.nvidia = true;
    device.compute_units = compute_units;
    const Problem problem = problem_of(params_with(size, {{"inner", std::to_string(size)}}));
    return variants(device, problem, Geometry::of(size, size, Axis::tiles)).front().name();
  };
  // 256 tiles of 128 x 128, two on each compute unit.
  CHECK(first_of(2048, 128) == "packed 128x128x8 by 16x8");
  CHECK(first_of(2048, 127) == "packed 128x128x16 by 16x8");
  CHECK(first_of(8192, 128) == "packed 128x128x16 by 16x8");
}

TEST_CASE("matrix: an empty C is one empty item without tiles") {
  for (const Axis axis : {Axis::rows, Axis::cols, Axis::tiles}) {
    for (const auto& [rows, columns] : {std::pair{0u, 50u}, {50u, 0u}, {0u, 0u}}) {
      const Geometry geometry = Geometry::of(rows, columns, axis);
      CHECK(geometry.items() == 1);
      CHECK(area(geometry.cover(0, 1)) == 0);
      CHECK(tile_table(geometry, 32, 32).tiles.empty());
    }
  }
}

TEST_CASE("matrix: kernels suit the items of every axis and size, and the device's limits") {
  for (const char* axis : {"rows", "cols", "tiles"}) {
    for (const std::uint64_t size : {100, 1000, 2048, 9000}) {
      for (const char* precision : {"fp32", "fp64"}) {
        const Problem problem =
            problem_of(params_with(size, {{"axis", axis}, {"precision", precision}}));
        const Geometry geometry = Geometry::of(size, size, problem.axis);
        for (const bool nvidia : {true, false}) {
          DeviceTraits device = matrix_gpu();
          device.nvidia = nvidia;
          for (const Variant& variant : variants(device, problem, geometry)) {
            CAPTURE(variant.options);
            CHECK((problem.axis == Axis::cols || geometry.edge() % variant.tile_rows == 0));
            CHECK((problem.axis == Axis::rows || geometry.edge() % variant.tile_columns == 0));
          }
          CHECK(variants(device, problem, geometry).back().kind == "portable");
          device.max_work_group = 64;
          CHECK(variants(device, problem, geometry).back().threads <= 64);
        }
      }
    }
  }
}

TEST_CASE("matrix: a device without fp64, or without the kernel that was named, says so") {
  DeviceTraits device = matrix_gpu();
  device.fp64 = false;
  const Problem wide = problem_of(params_with(100, {{"precision", "fp64"}}));
  const Geometry geometry = Geometry::of(100, 100, Axis::rows);
  const Capacity none = given(device, wide, geometry, Mode::resident);
  CHECK((none.fits == 0 && has(none.reason, "fp64")));
  const Problem vector = problem_of(params_with(100, {{"kernel", "vector"}}));
  CHECK(has(given(matrix_gpu(), vector, geometry, Mode::resident).reason, "kernel"));
  const Problem emulated = problem_of(params_with(100, {{"precision", "3xtf32"}}));
  CHECK(has(given(matrix_gpu(), emulated, geometry, Mode::resident).reason, "tensor"));
}

TEST_CASE("matrix: what does not fit is refused resident and goes in waves end to end") {
  for (const char* axis : {"rows", "cols", "tiles"}) {
    const Problem problem = problem_of(params_with(20'000, {{"axis", axis}, {"inner", "20000"}}));
    const Geometry geometry = Geometry::of(20'000, 20'000, problem.axis);
    DeviceTraits device = matrix_gpu();
    device.global_memory = Bytes{4} << 30;  // A, B and C take 1.5 GiB each
    const Capacity resident = given(device, problem, geometry, Mode::resident);
    CHECK((resident.fits == 0 && !resident.reason.empty()));
    const Capacity waves = given(device, problem, geometry, Mode::end_to_end);
    CHECK((waves.fits > 0 && waves.fits < geometry.items() && waves.pipeline <= waves.fits));
    CHECK(waves.resident <= device.global_memory);
    // Less than any one of them: each is processed by tiles, else a message says so.
    device.global_memory = Bytes{1} << 30;
    const Capacity parts = given(device, problem, geometry, Mode::end_to_end);
    CHECK((parts.fits > 0) == (problem.axis == Axis::tiles));
    CHECK(has(parts.reason, "--axis tiles") == (problem.axis != Axis::tiles));
    device.global_memory = Bytes{1} << 20;
    CHECK(given(device, problem, geometry, Mode::end_to_end).fits == 0);
  }
}

TEST_CASE("matrix: slices end to end fill the last turn of a GPU's work-groups") {
  DeviceTraits device = matrix_gpu();
  device.compute_units = 132;
  device.global_memory = device.max_allocation = Bytes{80} << 30;
  // 96 rows of 96 tiles: 6 of 16 slices would be 576 tiles, 2.2 turns of 264.
  for (const auto& [size, slice] : {std::pair{12'288, 8}, {8'192, 4}, {4'096, 8}}) {
    const Problem problem = problem_of(params_with(static_cast<std::uint64_t>(size), {}));
    const Geometry geometry = Geometry::of(problem.rows, problem.columns, problem.axis);
    CHECK(geometry.items() == static_cast<Items>(size) / 128);
    CHECK(given(device, problem, geometry, Mode::end_to_end).pipeline == static_cast<Items>(slice));
  }
}

TEST_CASE("matrix: impossible options and sizes are refused by name") {
  for (const auto& [size, option, value] : {std::tuple{10, "kernel", "tensor"},
                                            {3'000'000, "size", ""},
                                            {10, "cols", "3000000"},
                                            {10, "inner", "2000000000"}}) {
    const auto params = params_with(static_cast<std::uint64_t>(size), {{option, value}});
    CHECK(has(test::refusal([&] { problem_of(params); }), std::string("--") + option));
  }
}

TEST_CASE("matrix: alpha and beta are 0, or numbers that the precision holds") {
  const auto said = [](const char* option, const char* value, const char* precision) {
    return test::refusal([&] {
      problem_of(params_with(10, {{option, value}, {"precision", precision}}));
    });
  };
  for (const char* option : {"alpha", "beta"}) {
    for (const char* value : {"1e39", "-1e39", "1e-50", "1e-40", "nan", "inf", "two", ""}) {
      CAPTURE(value);
      for (const char* precision : {"fp32", "3xtf32"}) {
        const std::string message = said(option, value, precision);
        CHECK(has(message, std::string("--") + option + ": \"" + value + "\""));
        CHECK((has(message, precision) && has(message, "3.4e38")));
      }
    }
    CHECK(has(said(option, "1e-310", "fp64"), "2.3e-308"));
    CHECK(has(said(option, "1e400", "fp64"), "1.7e308"));
  }
  const auto alpha = [](const char* value, const char* precision) {
    return problem_of(params_with(10, {{"alpha", value}, {"precision", precision}})).alpha;
  };
  CHECK(alpha("1e39", "fp64") == 1e39);
  CHECK(alpha("-0", "fp32") == 0);
  CHECK(alpha("0.1", "fp32") == static_cast<double>(0.1f));
  CHECK(alpha("3.4028235e38", "fp32") == static_cast<double>(std::numeric_limits<float>::max()));
}

TEST_CASE("matrix: seeded operands depend on the seed alone, and integers are small") {
  SuiteParams params = params_with(70, {{"inner", "9"}, {"cols", "50"}});
  const Problem problem = problem_of(params);
  params.seed = 3;
  const Operands one(problem, params);
  params.host_threads = 4;
  const Operands same(problem, params);
  params.seed = 4;
  const Operands other(problem, params);
  const auto equal = [](std::span<const std::byte> a, std::span<const std::byte> b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  };
  CHECK(equal(one.a(), same.a()));
  CHECK(equal(one.b(), same.b()));
  CHECK_FALSE(equal(one.a(), other.a()));
  CHECK(one.c_in().empty());
  params.options["data"] = "integers";
  const Operands integers(problem_of(params), params);
  std::set<float> found;
  for (std::size_t i = 0; i < integers.b().size() / 4; ++i)
    found.insert(reinterpret_cast<const float*>(integers.b().data())[i]);
  CHECK(found == std::set<float>{-4, -3, -2, -1, 0, 1, 2, 3, 4});
}

namespace {

constexpr std::uint64_t kRows = 40, kColumns = 35, kInner = 29;

template <class Real>
struct HostProduct {
  explicit HostProduct(const std::string& alpha = "1", const std::string& beta = "0")
      : params(params_of(alpha, beta)), problem(problem_of(params)), operands(problem, params) {}

  static SuiteParams params_of(const std::string& alpha, const std::string& beta) {
    return params_with(kRows, {{"precision", sizeof(Real) == 8 ? "fp64" : "fp32"},
                               {"cols", std::to_string(kColumns)},
                               {"inner", std::to_string(kInner)},
                               {"alpha", alpha},
                               {"beta", beta}});
  }
  static Real* values(std::span<const std::byte> bytes) {
    return reinterpret_cast<Real*>(
        const_cast<std::byte*>(bytes.data()));  // operands may be written until they are uploaded
  }
  Real& a(std::uint64_t row, std::uint64_t k) { return values(operands.a())[row * kInner + k]; }
  Real& b(std::uint64_t k, std::uint64_t column) {
    return values(operands.b())[k * kColumns + column];
  }
  Real& c_in(std::uint64_t row, std::uint64_t column) {
    return values(operands.c_in())[row * kColumns + column];
  }
  Real& c(std::uint64_t row, std::uint64_t column) {
    return values(operands.c())[row * kColumns + column];
  }
  void scale_a(Real by) {
    for (std::uint64_t e = 0; e < kRows * kInner; ++e) values(operands.a())[e] *= by;
  }
  void scale_b(Real by) {
    for (std::uint64_t e = 0; e < kInner * kColumns; ++e) values(operands.b())[e] *= by;
  }

  // Computes as kernels do. With `flush` it treats subnormal numbers as zero, like some devices.
  void compute(bool flush = false) {
    const auto kept = [&](Real x) {
      return flush && std::abs(x) < std::numeric_limits<Real>::min() ? Real{0} : x;
    };
    const auto alpha = static_cast<Real>(problem.alpha), beta = static_cast<Real>(problem.beta);
    for (std::uint64_t i = 0; i < kRows; ++i) {
      for (std::uint64_t j = 0; j < kColumns; ++j) {
        Real sum = 0;
        for (std::uint64_t k = 0; k < kInner; ++k)
          sum = kept(std::fma(kept(a(i, k)), kept(b(k, j)), sum));
        c(i, j) = kept(problem.reads_c() ? std::fma(alpha, sum, kept(beta * kept(c_in(i, j))))
                                         : alpha * sum);
      }
    }
  }

  // Returns the message of both checks; empty if the product is right.
  std::string wrong(bool flushed = false) {
    Reference reference(problem, operands, 2);
    if (flushed) reference.allow_flushing();
    const std::string sampled = reference.check_sample(3).message;
    return sampled.empty() ? reference.check_all(3).message : sampled;
  }

  // Checks that the product passes, and that one wrong element in any row that is not sampled is
  // found.
  void check() {
    compute();
    const std::string message = wrong();
    CHECK_MESSAGE(message.empty(), message);
    for (std::uint64_t row = 1; row + 1 < kRows; row += testing::is_thorough() ? 4 : 12) {
      Real& element = c(row, row % kColumns);
      const Real right = element;
      INFO(row, " ", right);
      constexpr Real most = std::numeric_limits<Real>::max(),
                     infinity = std::numeric_limits<Real>::infinity();
      for (const Real bad :
           {std::isinf(right) ? -right : infinity,
            std::isnan(right) ? infinity : std::numeric_limits<Real>::quiet_NaN(), most, -most}) {
        element = bad;
        CHECK(wrong() != "");
      }
      element = right;
    }
  }

  std::size_t count(bool (*what)(Real)) {
    std::size_t found = 0;
    for (std::uint64_t e = 0; e < kRows * kColumns; ++e) found += what(values(operands.c())[e]);
    return found;
  }

  SuiteParams params;
  Problem problem;
  Operands operands;
};

template <class Real>
bool is_infinite(Real x) {
  return std::isinf(x);
}
template <class Real>
bool is_nan(Real x) {
  return std::isnan(x);
}
template <class Real>
bool is_subnormal(Real x) {
  return x != 0 && std::abs(x) < std::numeric_limits<Real>::min();
}

// A number near the square root of the largest one.
template <class Real>
constexpr Real large = sizeof(Real) == 8 ? static_cast<Real>(1e155) : static_cast<Real>(1.5e19);
// A number whose square is subnormal.
template <class Real>
constexpr Real tiny = sizeof(Real) == 8 ? static_cast<Real>(1e-156) : static_cast<Real>(1e-20);

template <class Real>
void check_everywhere() {
  {
    HostProduct<Real> all;  // every element may overflow, some do
    all.scale_a(large<Real>);
    all.scale_b(large<Real>);
    all.check();
    CHECK(all.count(is_infinite<Real>) > 10);
  }
  {
    HostProduct<Real> some;  // a few kRows and kColumns with a few huge numbers
    for (const std::uint64_t at : {5u, 13u, 30u}) {
      some.a(at, at % kInner) *= large<Real> * 1000;
      some.b(at % kInner, at) *= large<Real> * 1000;
    }
    some.check();
    CHECK(some.count(is_infinite<Real>) > 0);
    CHECK(some.count(is_infinite<Real>) < 20);
  }
  {
    HostProduct<Real> below;
    below.scale_a(tiny<Real>);
    below.scale_b(tiny<Real>);
    below.check();
    CHECK(below.count(is_subnormal<Real>) > kRows * kColumns / 2);
    below.compute(true);
    CHECK(below.wrong() != "");
    CHECK(below.wrong(true) == "");
    below.c(3, 3) += 100'000 * std::numeric_limits<Real>::min();
    CHECK(below.wrong(true) != "");
  }
  {
    HostProduct<Real> operands;  // subnormal themselves
    operands.scale_b(std::numeric_limits<Real>::min() / 8);
    operands.scale_a(static_cast<Real>(1e10));
    operands.check();
    operands.compute(true);
    CHECK(operands.wrong() != "");
    CHECK(operands.wrong(true) == "");
  }
  {
    HostProduct<Real> ends(sizeof(Real) == 8 ? "1e307"
                                             : "1e37");  // only alpha times the sum overflows
    ends.scale_a(10);
    ends.check();
    CHECK(ends.count(is_infinite<Real>) > 10);
  }
  {
    // Sums and beta C overflow.
    HostProduct<Real> against("1", sizeof(Real) == 8 ? "-1e307" : "-1e37");
    against.scale_a(large<Real>);
    against.scale_b(large<Real>);
    for (std::uint64_t e = 0; e < kRows * kColumns; ++e)
      HostProduct<Real>::values(against.operands.c_in())[e] *= 1000;
    against.check();
    CHECK(against.count(is_infinite<Real>) > 10);
    CHECK(against.count(is_nan<Real>) > 2);
  }
  {
    HostProduct<Real> strange("2", "0.5");
    strange.a(4, 3) = std::numeric_limits<Real>::quiet_NaN();
    strange.b(6, 7) = std::numeric_limits<Real>::infinity();
    strange.c_in(9, 9) = -std::numeric_limits<Real>::infinity();
    strange.check();
    CHECK(strange.count(is_nan<Real>) >= kColumns);
  }
}

}  // namespace

TEST_CASE("matrix: products that overflow or are subnormal are right as IEEE has them, only so") {
  check_everywhere<float>();
  check_everywhere<double>();
}

TEST_CASE("matrix: one wrong element is seen in any row, whatever the magnitude of B's columns") {
  HostProduct<double> product;
  for (std::uint64_t j = 0; j < kColumns; ++j) {
    for (std::uint64_t k = 0; k < kInner; ++k)
      product.b(k, j) *=
          std::exp2(static_cast<double>(j % 2 == 0 ? 20 * j : -20.0 * static_cast<double>(j)));
  }
  product.compute();
  CHECK(product.wrong() == "");
  for (std::uint64_t j = 0; j < kColumns; ++j) {
    const double right = product.c(17, j);
    product.c(17, j) *= 1 + 1e-9;
    CHECK(product.wrong() != "");
    product.c(17, j) = right;
  }
}

}  // namespace mgpu::matrix
