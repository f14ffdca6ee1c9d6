// How msm is cut into windows, what that costs, and what a device must hold for it.
#include <doctest/doctest.h>

#include "suites/msm/msm_workload.hpp"
#include "tests/support/refusal.hpp"

using namespace mgpu;
using namespace mgpu::msm;
using mgpu::test::has;

namespace {

DeviceTraits gpu(Bytes memory) {
  DeviceTraits traits;
  traits.compute_units = 132;
  traits.global_memory = memory;
  traits.max_allocation = memory / 4;
  return traits;
}

}  // namespace

TEST_CASE(
    "more points want wider windows, and a split over windows as many as the devices can share") {
  for (const Limit limit : {Limit::throughput, Limit::latency}) {
    unsigned before = 0;
    for (unsigned log_n = 0; log_n <= 26; ++log_n) {
      const Windows best = best_windows(Curve::bn254, true, limit, std::uint64_t{1} << log_n);
      CHECK(best.bits >= before);
      before = best.bits;
    }
  }
  CHECK(best_windows(Curve::bn254, true, Limit::latency, 1 << 20).bits >= 15);
  for (const std::size_t devices : {1, 2, 3, 4, 8}) {
    const Windows split =
        best_split_windows(Curve::bn254, true, Limit::throughput, 1 << 22, devices);
    const double idle =
        static_cast<double>((split.count + devices - 1) / devices * devices) / split.count;
    CHECK(idle < 1.07);  // 15 windows over 8 devices
  }
}

TEST_CASE("a term costs as many digits as the windows for its device's share have") {
  MsmOptions options;
  options.fixed_base = FixedBase::no;
  options.devices = 8;
  MsmWorkload workload(Terms(Curve::bn254, 1 << 12), options);
  for (const std::size_t devices : {1, 8}) {
    workload.expect(devices);
    CHECK(workload.cost(Mode::resident).ops ==
          best_windows(Curve::bn254, true, Limit::latency, (1 << 12) / devices).count);
  }
  CHECK(best_windows(Curve::bn254, true, Limit::latency, 1 << 12).count <
        best_windows(Curve::bn254, true, Limit::latency, 1 << 9).count);
}

TEST_CASE("a layout holds what every pass of its slices can write") {
  const DeviceTraits device = gpu(Bytes{140} << 30);
  for (const unsigned bits : {2u, 8u, 15u, 20u}) {
    for (const std::uint64_t points :
         {std::uint64_t{1}, std::uint64_t{33}, std::uint64_t{100'000}, std::uint64_t{1} << 22}) {
      const Problem problem{
          Curve::bn254, Axis::points, points, {windows_of(Curve::bn254, true, bits)}};
      const Layout plan = layout(device, problem, Mode::resident, points);
      for (const std::uint64_t slice : {points, points / 2, points / 7, std::uint64_t{1}}) {
        const Pass pass = pass_of(device, slice, problem.windows[0].count, problem.windows[0]);
        CHECK(pass.limit >= least_limit);
        CHECK(pass.limit <= largest_limit);
        CHECK(plan.tasks >= pass.tasks() * 16);
        CHECK(plan.partials >= 2 * (pass.entries() / pass.limit) * sum_bytes(Curve::bn254));
        CHECK(plan.entries >= pass.entries() * 4);
      }
    }
  }
}

TEST_CASE(
    "windows that share their buckets: as many passes as their entries need, and a layout for the "
    "fullest of any slice") {
  const Windows shared = windows_of(Curve::bn254, true, 20, true);
  CHECK(shared.count == 13);
  CHECK(shared.wide == 7);
  CHECK(shared.all_buckets() == 1 << 19);
  CHECK(shared.used_buckets() == 1 << 19);
  // 7 windows of 2^19 buckets and 6 of half as many: 2^20 points put 2 and 4 digits each into those
  // below the middle.
  CHECK(shared.digits_in_fullest(1 << 20) == doctest::Approx(7 * 2 + 6 * 4));
  CHECK(windows_of(Curve::bn254, true, 20).digits_in_fullest(1 << 20) == doctest::Approx(4));
  CHECK(passes_of(shared, 1 << 20) == 1);
  CHECK(passes_of(shared, 1 << 22) == 2);
  CHECK(windows_of_pass(shared, 1 << 22) == 7);
  CHECK(passes_of(shared, 1 << 26) == 13);
  CHECK(passes_of(windows_of(Curve::bn254, true, 20), 1 << 26) == 1);

  const DeviceTraits device = gpu(Bytes{80} << 30);
  for (const std::uint64_t points :
       {std::uint64_t{1}, std::uint64_t{33}, std::uint64_t{3'000'000}, std::uint64_t{1} << 22}) {
    Problem problem{Curve::bn254, Axis::points, points, {windows_of(Curve::bn254, true, 16)},
                    true,         shared};
    CHECK(has_table(device, problem, Mode::resident));
    CHECK(has_table(device, problem, scalars_mode));
    CHECK_FALSE(has_table(device, problem, Mode::end_to_end));
    const Layout plan = layout(device, problem, Mode::resident, points);
    CHECK(plan.points == 13 * points * 64);
    for (std::uint64_t slice = points; slice > 0; slice = slice * 9 / 10) {
      const Pass pass = pass_of(device, slice, windows_of_pass(shared, slice), shared);
      CHECK(pass.buckets == 1 << 19);
      CHECK(plan.tasks >= pass.tasks() * 16);
      CHECK(plan.partials >= 2 * (pass.entries() / pass.limit) * sum_bytes(Curve::bn254));
      CHECK(plan.entries >= pass.entries() * 4);
    }
  }
}

TEST_CASE(
    "a table is made where it fits, and elsewhere only if it has to be, which is then refused") {
  const auto problem_of = [](std::uint64_t points, bool must) {
    return Problem{Curve::bn254, Axis::points,
                   points,       {windows_of(Curve::bn254, true, 16)},
                   true,         windows_of(Curve::bn254, true, 20, true),
                   must};
  };
  const DeviceTraits small =
      gpu(Bytes{4} << 30);  // 1 GiB at once: 2^22 points, but not 13 multiples of each
  CHECK_FALSE(has_table(small, problem_of(1 << 22, false), Mode::resident));
  CHECK(capacity(small, problem_of(1 << 22, false), Mode::resident).fits == 1 << 22);
  const Capacity refused = capacity(small, problem_of(1 << 22, true), Mode::resident);
  CHECK(refused.fits == 0);
  CHECK(has(refused.reason, "4194304 points"));
  const DeviceTraits huge = gpu(Bytes{4} << 40);
  CHECK_FALSE(has_table(huge, problem_of(1 << 28, false),
                        Mode::resident));  // 13 x 2^28 numbers of points are too many
  const Capacity too_many = capacity(huge, problem_of(1 << 28, true), Mode::resident);
  CHECK(too_many.fits == 0);
  CHECK(has(too_many.reason, "165191048 terms"));

  MsmOptions options;
  MsmWorkload with(Terms(Curve::bn254, 1 << 16), options);
  options.fixed_base = FixedBase::no;
  MsmWorkload without(Terms(Curve::bn254, 1 << 16), options);
  CHECK(with.cost(Mode::resident).ops < without.cost(Mode::resident).ops);
  CHECK(with.cost(Mode::end_to_end).ops == without.cost(Mode::end_to_end).ops);
  options.fixed_base = FixedBase::automatic;
  options.limit = Limit::throughput;  // CPUs
  MsmWorkload on_cpus(Terms(Curve::bn254, 1 << 16), options);
  CHECK_FALSE(on_cpus.problem().shared_windows.has_value());
}

TEST_CASE(
    "a device is given what fits it: smaller slices first, nothing when not even one fits, and a "
    "reason") {
  const Problem problem{Curve::bls12_381,
                        Axis::points,
                        1 << 22,
                        {best_windows(Curve::bls12_381, true, Limit::latency, 1 << 22)}};
  CHECK(capacity(gpu(Bytes{140} << 30), problem, Mode::resident).fits == 1 << 22);
  const Capacity small = capacity(gpu(Bytes{2} << 30), problem, Mode::end_to_end);
  CHECK(small.fits > 0);
  CHECK(small.fits < 1 << 22);
  CHECK(layout(gpu(Bytes{2} << 30), problem, Mode::end_to_end, small.fits).total() <= Bytes{2}
                                                                                          << 30);
  const Capacity none = capacity(gpu(Bytes{64} << 20), problem, Mode::resident);
  CHECK(none.fits == 0);
  CHECK(has(none.reason, "4194304 points"));
  CHECK(capacity(gpu(Bytes{140} << 30),
                 {Curve::bn254, Axis::points, 0, {windows_of(Curve::bn254, true, 2)}},
                 Mode::resident)
            .fits == 1);
}

TEST_CASE("bits of scalars are counted after folding, and fewer bits need fewer multiply-adds") {
  Scalar r_less_1 = order_of(Curve::bn254);
  r_less_1[0] -= 1;
  const Scalar scalars[] = {{}, {1, 0, 0, 0}, {0xffff, 0, 0, 0}, {0, 1, 0, 0}, r_less_1};
  const BitLengths folded = bit_lengths(Curve::bn254, true, scalars),
                   plain = bit_lengths(Curve::bn254, false, scalars);
  CHECK(folded[0] == 1);
  CHECK(folded[1] == 2);  // r - 1 is -1
  CHECK(folded[16] == 1);
  CHECK(folded[65] == 1);
  CHECK(plain[1] == 1);
  CHECK(plain[254] == 1);
  BitLengths one{}, wide{};
  wide[253] = 1 << 20;
  // 14 windows of 16 bits and two of 15: 8 products, 2 squares and 9 reductions of 8 words for each
  // digit, 12, 2 and 13 twice for each bucket.
  CHECK(least_multiply_adds(Curve::bn254, true, wide, false) ==
        doctest::Approx(16.0 * (1 << 20) * 2392.0 + 2 * 15 * 32768 * 3448.0).epsilon(1e-9));
  one[1] = 1 << 20;
  CHECK(least_multiply_adds(Curve::bn254, true, one, false) <
        least_multiply_adds(Curve::bn254, true, wide, false) / 10);
  // 13 windows of at most 20 bits that share 2^19 buckets.
  CHECK(least_multiply_adds(Curve::bn254, true, wide, true) ==
        doctest::Approx(13.0 * (1 << 20) * 2392.0 + 2 * 524288.0 * 3448.0).epsilon(1e-9));
  CHECK(least_multiply_adds(Curve::bls12_381, true, BitLengths{}, false) == 0);
}

TEST_CASE("each mode says what it sends, and the windows follow the number of devices") {
  MsmOptions options;
  options.fixed_base = FixedBase::no;
  options.devices = 4;
  MsmWorkload by_points(Terms(Curve::bn254, 1 << 14), options);
  CHECK(by_points.cost(Mode::end_to_end).in_bytes == 96);
  CHECK(by_points.cost(scalars_mode).in_bytes == 32);
  by_points.expect(1);
  const unsigned alone = by_points.windows().bits;
  by_points.expect(4);
  CHECK(by_points.windows().bits < alone);
  options.axis = Axis::windows;
  MsmWorkload by_windows(Terms(Curve::bn254, 1 << 14), options);
  CHECK(by_windows.shape().items == by_windows.windows().count);
  CHECK(by_windows.cost(Mode::end_to_end).replicated == 96 << 14);
  CHECK(by_windows.cost(scalars_mode).replicated == 32 << 14);
}
