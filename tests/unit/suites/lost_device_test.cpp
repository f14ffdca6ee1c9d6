// Results that stay on a device, or are downloaded with each slice, when devices fail in the middle
// of a sample: the suites' own programs on the fake backend. The matrix product's kernel runs on
// the host; other kernels compute nothing, because only the arrival of results counts.
#include <doctest/doctest.h>

#include <cmath>

#include "suites/fisher/points_workload.hpp"
#include "suites/matrix/matrix_workload.hpp"
#include "suites/pac/pac_workload.hpp"
#include "tests/support/fake_sample.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/suite_params.hpp"

namespace mgpu::test {
namespace {

constexpr Items kProductItems = 24;

// Computes matrix_multiply of kernels/matrix.cl with tiles of 32 x 32, by rows: C = A B.
void multiply_tiles(const Grid&, std::span<const FakeArg> args) {
  const auto floats = [&](std::size_t i) {
    return reinterpret_cast<float*>(std::get<std::span<std::byte>>(args[i]).data());
  };
  const auto number = [&](std::size_t i) { return std::get<std::uint32_t>(args[i]); };
  const float *a = floats(0), *b = floats(1);
  float* const c = floats(3);
  const auto* const tiles = reinterpret_cast<const std::uint32_t*>(floats(4));
  const std::uint32_t rows = number(8), columns = number(9), inner = number(10), row0 = number(11);
  for (std::uint32_t t = 0; t < number(6) * number(7); ++t) {
    const std::uint32_t tile = tiles[number(5) + t], m0 = (tile >> 16) * 32,
                        n0 = (tile & 0xffff) * 32;
    for (std::uint32_t m = m0; m < std::min(rows, m0 + 32); ++m) {
      for (std::uint32_t n = n0; n < std::min(columns, n0 + 32); ++n) {
        float sum = 0;
        for (std::uint32_t k = 0; k < inner; ++k)
          sum = std::fma(a[(m - row0) * inner + k], b[k * columns + n], sum);
        c[(m - row0) * columns + n] = sum;
      }
    }
  }
}

FakeKernels kernels_of_slices() {
  FakeKernelCode code, one, small;
  one.run = small.run = [](const Grid&, std::span<const FakeArg>) {};
  code.ops = one.ops = [](const Grid& grid, std::span<const FakeArg>) {
    return static_cast<double>(grid.global[0]);
  };
  code.run = multiply_tiles;
  small.ops = [](const Grid&, std::span<const FakeArg> args) {
    return static_cast<double>(std::get<std::uint64_t>(args[2]));
  };
  FakeKernels all{{"matrix_multiply", code}, {"small", small}};
  for (const char* of_pac : {"spectrum", "phases", "amplitudes", "weigh", "sort_by_bin",
                             "shift_directly", "clear_moments"})
    all[of_pac] = one;
  return all;
}

// Runs a sample with two failures. Device 0 has its share of 8 items ready and nothing more to do
// when device 2, which is slow, fails and half of its share goes to device 0. Then device 0 fails
// itself. What it finished before is on no host.
FakeSample sample_with_losses(Workload& workload, Mode mode, std::uint64_t first_fails_at = 4) {
  std::vector<FakeDevice> devices{fake_device("0:0", 1e9), fake_device("0:1", 1e9),
                                  fake_device("0:2", 1e7)};
  for (FakeDevice& device : devices) {
    device.facts.type = DeviceType::gpu;
    device.facts.max_work_group = 1024;
    device.facts.local_memory = 48 << 10;
  }
  devices[0].script = fails_from(FakeCall::launch, first_fails_at, FakeFault::Kind::error);
  devices[2].script = fails_from(FakeCall::launch, 1, FakeFault::Kind::error);
  return FakeSample(workload, kernels_of_slices(), devices, mode);
}

}  // namespace

TEST_CASE("lost devices: what stayed on one that had finished its share is computed again") {
  for (const Mode mode : {Mode::resident, Mode::end_to_end}) {
    CAPTURE(to_string(mode));
    matrix::MatrixWorkload workload(suite_params(
        "matrix", kProductItems * 32, {{"cols", "40"}, {"inner", "8"}, {"kernel", "portable"}}));
    REQUIRE(workload.shape().items == kProductItems);
    const FakeSample sample = sample_with_losses(workload, mode);
    check_right(sample, workload);
    REQUIRE(sample.raw.faults.size() == 2);
    CHECK(sample.raw.faults[1].device == DeviceIndex{0});
    // Resident, everything it did is lost; end to end, the results downloaded with its slices are
    // not.
    Items lost = 0;
    for (const Slice& slice : sample.raw.faults[1].lost) lost += slice.size();
    CHECK((mode == Mode::resident ? lost > 8 : lost < 8));
  }
}

TEST_CASE("lost devices: matrices at points, and sums of series and surrogates, all arrive") {
  for (const Mode mode : {Mode::resident, Mode::end_to_end}) {
    CAPTURE(to_string(mode));
    fisher::PointsWorkload points(
        suite_params("fisher", kProductItems * 64, {{"regime", "closed"}, {"family", "normal"}}));
    CHECK(sample_with_losses(points, mode).raw.faults.size() == 2);
    CHECK_FALSE(has(points.verify(VerifyLevel::full, 3).method, "arrived"));
    for (const char* axis : {"batch", "permutation"}) {
      CAPTURE(axis);
      pac::PacWorkload series(
          pac_params(kProductItems, {{"axis", axis}, {"channels", "1"}, {"sums", "direct"}}));
      // A slice is six launches: the first device has finished its share by then.
      CHECK(sample_with_losses(series, mode, *axis == 'b' ? 27 : 15).raw.faults.size() == 2);
      series.merge();
      CHECK_FALSE(has(series.verify(VerifyLevel::full, 3).method, "arrived"));
    }
  }
}

}  // namespace mgpu::test
