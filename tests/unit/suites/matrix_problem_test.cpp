// How C falls into items and tiles, what a device is given, and what is refused before anything is
// allocated.
#include <doctest/doctest.h>

#include <limits>
#include <set>

#include "suites/common/wave.hpp"
#include "suites/matrix/layout.hpp"
#include "suites/matrix/operands.hpp"
#include "suites/matrix/problem.hpp"
#include "suites/suites.hpp"
#include "tests/support/refusal.hpp"

using namespace mgpu;
using namespace mgpu::matrix;

namespace {

SuiteParams params_of(std::uint64_t rows, const std::map<std::string, std::string>& given = {}) {
  SuiteParams params;
  params.size = rows;
  for (const SuiteInfo& info : all_suites()) {
    if (info.name != "matrix") continue;
    for (const SuiteOption& option : info.options)
      params.options[option.name] = option.values.front();
  }
  for (const auto& [name, value] : given) params.options[name] = value;
  return params;
}

DeviceTraits gpu() {
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

TEST_CASE("every element of C is in exactly one item, by every axis, for ragged and thin shapes") {
  for (const Axis axis : {Axis::rows, Axis::cols, Axis::tiles}) {
    for (const auto& [rows, columns] :
         {std::pair{97u, 135u}, {1u, 1000u}, {1000u, 1u}, {32u, 32u}, {700u, 530u}, {33u, 2000u}}) {
      CAPTURE(rows);
      CAPTURE(columns);
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

TEST_CASE("a range of tiles is covered by few rectangles of the right area, however it is cut") {
  const Geometry geometry = Geometry::of(1300, 900, Axis::tiles);
  REQUIRE(geometry.items() == 21 * 15);
  std::uint64_t fewest = geometry.items();
  for (Items begin = 0; begin < geometry.items(); begin += 7) {
    for (Items end = begin + 1; end <= geometry.items(); end += 5) {
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

TEST_CASE("a range of tiles is compact: 64 of them lie in a square of 8 x 8") {
  const Geometry geometry = Geometry::of(2000, 2000, Axis::tiles);
  const auto rects = geometry.cover(64, 128);
  REQUIRE(rects.size() == 1);
  CHECK(rects.front().rows == 8 * geometry.edge());
  CHECK(rects.front().columns == 8 * geometry.edge());
}

TEST_CASE("the table of tiles has every tile of the kernel once, those of an item together") {
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

TEST_CASE(
    "a wave gathers the rows and columns its items touch, once and in order, and no range needs "
    "more than the largest says") {
  for (const auto& [rows, columns] : {std::pair{1300u, 900u}, {50u, 3000u}, {3000u, 33u}}) {
    const Geometry geometry = Geometry::of(rows, columns, Axis::tiles);
    const std::uint64_t edge = geometry.edge();
    for (const Items size : {Items{1}, Items{7}, geometry.items() / 3, geometry.items()}) {
      const WaveSize largest = largest_wave(geometry, size);
      for (Items begin = 0; begin + size <= geometry.items(); begin += 11) {
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
    "a preferred variant comes first where the problem has it, and changes nothing where it has "
    "not") {
  const DeviceTraits device = gpu();
  const Problem problem = problem_of(params_of(2048));
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

TEST_CASE(
    "a product of which all tiles are on the device at once takes the kernel of more stages") {
  const auto first_of = [](std::uint64_t size, std::uint32_t compute_units) {
    DeviceTraits device = gpu();
    device.nvidia = true;
    device.compute_units = compute_units;
    const Problem problem = problem_of(params_of(size, {{"inner", std::to_string(size)}}));
    return variants(device, problem, Geometry::of(size, size, Axis::tiles)).front().name();
  };
  // 256 tiles of 128 x 128, two on each compute unit.
  CHECK(first_of(2048, 128) == "packed 128x128x8 by 16x8");
  CHECK(first_of(2048, 127) == "packed 128x128x16 by 16x8");
  CHECK(first_of(8192, 128) == "packed 128x128x16 by 16x8");
}

TEST_CASE("an empty C is one empty item without tiles") {
  for (const Axis axis : {Axis::rows, Axis::cols, Axis::tiles}) {
    for (const auto& [rows, columns] : {std::pair{0u, 50u}, {50u, 0u}, {0u, 0u}}) {
      const Geometry geometry = Geometry::of(rows, columns, axis);
      CHECK(geometry.items() == 1);
      CHECK(area(geometry.cover(0, 1)) == 0);
      CHECK(tile_table(geometry, 32, 32).tiles.empty());
    }
  }
}

TEST_CASE("kernels suit the items of every axis and size, and the device's limits") {
  for (const char* axis : {"rows", "cols", "tiles"}) {
    for (const std::uint64_t size : {100, 1000, 2048, 9000}) {
      for (const char* precision : {"fp32", "fp64"}) {
        const Problem problem =
            problem_of(params_of(size, {{"axis", axis}, {"precision", precision}}));
        const Geometry geometry = Geometry::of(size, size, problem.axis);
        for (const bool nvidia : {true, false}) {
          DeviceTraits device = gpu();
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

TEST_CASE("a device without fp64, or without the kernel that was named, says so") {
  DeviceTraits device = gpu();
  device.fp64 = false;
  const Problem wide = problem_of(params_of(100, {{"precision", "fp64"}}));
  const Geometry geometry = Geometry::of(100, 100, Axis::rows);
  CHECK(given(device, wide, geometry, Mode::resident).fits == 0);
  CHECK(given(device, wide, geometry, Mode::resident).reason.find("fp64") != std::string::npos);
  const Problem vector = problem_of(params_of(100, {{"kernel", "vector"}}));
  CHECK(given(gpu(), vector, geometry, Mode::resident).reason.find("kernel") != std::string::npos);
  const Problem emulated = problem_of(params_of(100, {{"precision", "3xtf32"}}));
  CHECK(given(gpu(), emulated, geometry, Mode::resident).reason.find("tensor cores") !=
        std::string::npos);
}

TEST_CASE("what does not fit is refused resident and goes in waves end to end") {
  for (const char* axis : {"rows", "cols", "tiles"}) {
    const Problem problem = problem_of(params_of(20'000, {{"axis", axis}, {"inner", "20000"}}));
    const Geometry geometry = Geometry::of(20'000, 20'000, problem.axis);
    DeviceTraits device = gpu();
    device.global_memory = Bytes{4} << 30;  // A, B and C take 1.5 GiB each
    const Capacity resident = given(device, problem, geometry, Mode::resident);
    CHECK(resident.fits == 0);
    CHECK(resident.reason.find("do not fit") != std::string::npos);
    const Capacity waves = given(device, problem, geometry, Mode::end_to_end);
    CHECK(waves.fits > 0);
    CHECK(waves.fits < geometry.items());
    CHECK(waves.pipeline <= waves.fits);
    CHECK(waves.resident <= device.global_memory);
    device.global_memory =
        Bytes{1} << 30;  // less than any one of them: parts of all go by tiles, else a line says so
    const Capacity parts = given(device, problem, geometry, Mode::end_to_end);
    CHECK((parts.fits > 0) == (problem.axis == Axis::tiles));
    CHECK((parts.reason.find("--axis tiles") != std::string::npos) ==
          (problem.axis != Axis::tiles));
    device.global_memory = Bytes{1} << 20;
    CHECK(given(device, problem, geometry, Mode::end_to_end).fits == 0);
  }
}

TEST_CASE("impossible options and sizes are refused by name") {
  const auto said = [](const SuiteParams& params) {
    return test::refusal([&] { problem_of(params); });
  };
  CHECK(said(params_of(10, {{"kernel", "tensor"}})).find("--kernel") != std::string::npos);
  CHECK(said(params_of(3'000'000)).find("--size") != std::string::npos);
  CHECK(said(params_of(10, {{"cols", "3000000"}})).find("--cols") != std::string::npos);
  CHECK(said(params_of(10, {{"inner", "2000000000"}})).find("--inner") != std::string::npos);
}

TEST_CASE("alpha and beta must be numbers that the precision holds with all their digits, or 0") {
  const auto said = [](const char* option, const char* value, const char* precision) {
    return test::refusal([&] {
      problem_of(params_of(10, {{option, value}, {"precision", precision}}));
    });
  };
  for (const char* option : {"alpha", "beta"}) {
    for (const char* value : {"1e39", "-1e39", "1e-50", "1e-40", "nan", "inf", "two", ""}) {
      CAPTURE(value);
      for (const char* precision : {"fp32", "3xtf32"}) {
        const std::string message = said(option, value, precision);
        CHECK(test::has(message, std::string("--") + option));
        CHECK(test::has(message, std::string("\"") + value + "\""));
        CHECK(test::has(message, precision));
        CHECK(test::has(message, "accepted: 0, or a magnitude from 1.2e-38 to 3.4e38"));
      }
    }
    CHECK(test::has(said(option, "1e-310", "fp64"), "2.3e-308"));
    CHECK(test::has(said(option, "1e400", "fp64"), "1.7e308"));
  }
  const auto alpha = [](const char* value, const char* precision) {
    return problem_of(params_of(10, {{"alpha", value}, {"precision", precision}})).alpha;
  };
  CHECK(alpha("1e39", "fp64") == 1e39);
  CHECK(alpha("-0", "fp32") == 0);
  CHECK(alpha("0.1", "fp32") == static_cast<double>(0.1f));
  CHECK(alpha("3.4028235e38", "fp32") == static_cast<double>(std::numeric_limits<float>::max()));
}

TEST_CASE("seeded operands depend on the seed alone, and integers are small") {
  SuiteParams params = params_of(70, {{"inner", "9"}, {"cols", "50"}});
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
