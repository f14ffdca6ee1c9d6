// Multi-scalar multiplication on the devices there are, against OpenSSL term by term and against
// known discrete logarithms. On CPUs both ways of launching are run; on an NVIDIA GPU its carry
// chains and the portable kernels; unrolled ones only where there is a GPU.
#include <doctest/doctest.h>

#include <random>

#include "lib/base/error.hpp"
#include "suites/msm/msm_workload.hpp"
#include "suites/suites.hpp"
#include "tests/support/machine.hpp"
#include "tests/support/msm_terms.hpp"
#include "tests/support/thorough.hpp"

using namespace mgpu;
using namespace mgpu::msm;
using mgpu::testing::Path;

namespace {

constexpr Curve curves[] = {Curve::bn254, Curve::bls12_381};
constexpr Mode modes[] = {Mode::resident, scalars_mode, Mode::end_to_end};
// PoCL takes minutes for unrolled products.
std::string rolled() {
  return testing::machine().open.front()->resources().traits().cpu ? " -DMSM_ROLLED" : "";
}

// Of one curve in the quick tier, as PoCL compiles them for half a minute.
bool by_gpus_kernels(Curve curve) { return curve == Curve::bn254 || testing::is_thorough(); }

struct Case {
  std::string strategy = "equal";
  Mode mode = Mode::resident;
  Axis axis = Axis::points;
  Path path = Path::own;
  unsigned window_bits = 0;
  Items pipeline = 0;
  std::size_t devices = 0;
  std::uint64_t cached_entries = 1 << 23;
  FixedBase fixed_base = FixedBase::no;
  std::uint64_t together = entries_together;
};

MsmWorkload workload_of(Terms terms, const Case& how) {
  MsmOptions options;
  options.axis = how.axis;
  options.window_bits = how.window_bits;
  options.devices = testing::machine().open.size();
  options.cached_entries = how.cached_entries;
  options.fixed_base = how.fixed_base;
  options.together = how.together;
  return MsmWorkload(std::move(terms), options);
}

std::string digest_of(Terms terms, const Case& how) {
  CAPTURE(terms.count());
  CAPTURE(how.strategy);
  CAPTURE(to_string(how.mode));
  MsmWorkload workload = workload_of(std::move(terms), how);
  // PoCL compiles for each device anew, 5 s a curve and path: one is enough to see that the other
  // path is right.
  const std::size_t devices = how.path == Path::gpu ? 1 : how.devices;
  testing::Programs made =
      testing::make_programs(workload, how.mode, how.path, how.pipeline, devices, rolled());
  testing::take_sample(workload, made, how.strategy, how.mode);
  CHECK(workload.verify(VerifyLevel::full, 1).status == Verdict::Status::passed);
  return workload.digest();
}

}  // namespace

TEST_CASE(
    "sums of 0 to 4097 random terms are those of known logarithms, in every mode and under every "
    "strategy") {
  std::size_t turn = 0;
  const auto& strategies = all_strategies();
  std::vector<std::uint64_t> counts =
      testing::first_when_quick<std::uint64_t>(4, {0, 1, 33, 4097, 2, 3, 32});
  std::mt19937 random(2024);
  for (int i = 0; i < 2; ++i) counts.push_back(random() % 2500);
  for (const Curve curve : curves) {
    for (const std::uint64_t count : counts) {
      Case how;
      how.mode = modes[turn % 3];
      how.path = turn % 5 < 2 && by_gpus_kernels(curve)
                     ? Path::gpu
                     : Path::own;  // there points are made on the device
      how.strategy = strategies[turn % strategies.size()].name;
      how.axis = turn % 4 == 3 ? Axis::windows : Axis::points;
      how.pipeline = turn % 2 == 0 ? 0 : count / 5 + 1;
      ++turn;
      digest_of(Terms::random(curve, count, Scalars::uniform, count, 2), how);
    }
  }
}

TEST_CASE(
    "repeated and opposite points, infinity, scalars 0, 1 and r - 1, and points outside the "
    "subgroup sum to what OpenSSL says") {
  for (const Curve curve : curves) {
    const auto list = testing::difficult_terms(curve, 120, 17);
    const PlainPoint expected = testing::expected_sum(curve, list);
    for (const Path path : {Path::own, Path::gpu}) {
      if (path == Path::gpu && !by_gpus_kernels(curve)) continue;
      for (const unsigned bits : {0u, 2u, 9u}) {
        Case how;
        how.path = path;
        how.window_bits = bits;
        CHECK(digest_of(testing::terms_of(curve, list), how) == expected.x + expected.y);
      }
    }
  }
}

TEST_CASE(
    "one sum has the same affine point under every strategy, axis, mode, number of devices and "
    "window") {
  for (const Curve curve : curves) {
    const auto list = testing::difficult_terms(curve, 150, 4);
    const PlainPoint sum = testing::expected_sum(curve, list);
    for (const Axis axis : {Axis::points, Axis::windows}) {
      for (const Mode mode : modes) {
        Case how;
        how.axis = axis;
        MsmWorkload workload = workload_of(testing::terms_of(curve, list), how);
        for (std::size_t devices = 1; devices <= testing::machine().open.size(); ++devices) {
          testing::Programs made =
              testing::make_programs(workload, mode, Path::own, 23, devices, rolled());
          for (const StrategyInfo& info : all_strategies()) {
            CAPTURE(info.name);
            CAPTURE(devices);
            testing::take_sample(workload, made, info.name, mode);
            CHECK(workload.digest() == sum.x + sum.y);
          }
        }
      }
    }
    for (const unsigned bits : {3u, 8u, 13u}) {
      const Path path = by_gpus_kernels(curve) ? Path::gpu : Path::own;
      CHECK(digest_of(testing::terms_of(curve, list), {"dynamic", Mode::resident, Axis::points,
                                                       path, bits, 50, 0}) == sum.x + sum.y);
    }
  }
}

TEST_CASE("points made on a device are those made on the host, to the last of a short block") {
  for (const Curve curve : curves) {
    if (!by_gpus_kernels(curve)) continue;
    Terms terms = Terms::random(curve, 50, Scalars::uniform, 12, 1);
    // One term at a time: with scalar 1 for it alone, the sum is that point.
    for (const std::size_t at : {0u, 1u, 15u, 16u, 48u, 49u}) {
      Terms one = Terms::seeded(curve, 50, Scalars::uniform, 12, 1);
      for (std::size_t i = 0; i < 50; ++i) one.scalars()[i] = Scalar{i == at, 0, 0, 0};
      const PlainPoint expected = host_points(curve).plain(terms.point_bytes(at, at + 1));
      CHECK(digest_of(std::move(one), {"equal", Mode::resident, Axis::points, Path::gpu, 2}) ==
            expected.x + expected.y);
    }
  }
}

TEST_CASE(
    "skewed scalars, which put thousands of points into one bucket, are cut into tasks and put "
    "together again") {
  for (const Scalars scalars : {Scalars::equal, Scalars::witness}) {
    for (const Path path : {Path::own, Path::gpu}) {
      Case how;
      how.path = path;
      how.window_bits = 6;
      digest_of(Terms::random(Curve::bn254, 20'000, scalars, 8, 2), how);
    }
  }
}

TEST_CASE("entries written part by part, as where a window's exceed a cache, are all written") {
  for (const std::uint64_t cached : {1, 100, 400}) {
    digest_of(Terms::random(Curve::bn254, 900, Scalars::uniform, 8, 2),
              {"equal", Mode::resident, Axis::points, Path::gpu, 7, 0, 0, cached});
  }
}

TEST_CASE(
    "by a table of multiples all windows share their buckets, in one pass or several, whatever the "
    "slices and points") {
  for (const Curve curve : curves) {
    const auto list = testing::difficult_terms(curve, 130, 5);
    const PlainPoint sum = testing::expected_sum(curve, list);
    Case how;
    how.fixed_base = FixedBase::yes;
    how.pipeline = 41;
    MsmWorkload workload = workload_of(testing::terms_of(curve, list), how);
    for (const Mode mode : {Mode::resident, scalars_mode}) {
      testing::Programs made = testing::make_programs(workload, mode, Path::own, 41, 0, rolled());
      for (const auto& program : made.programs) CHECK(program->kernel_variant().find("table") == 0);
      for (const char* strategy : {"equal", "dynamic", "sequential"}) {
        CAPTURE(strategy);
        testing::take_sample(workload, made, strategy, mode);
        CHECK(workload.digest() == sum.x + sum.y);
      }
    }
    for (const unsigned bits : {3u, 8u, 13u}) {
      for (const std::uint64_t together : {1, 500, 1 << 20}) {
        how.window_bits = bits;
        how.together = together;
        how.path = bits == 8 && by_gpus_kernels(curve) ? Path::gpu : Path::own;
        how.cached_entries = bits == 8 ? 60 : 1 << 23;
        CHECK(digest_of(testing::terms_of(curve, list), how) == sum.x + sum.y);
      }
    }
  }
}

TEST_CASE("programs used again and again give the same sum") {
  Case how;
  MsmWorkload workload = workload_of(Terms::random(Curve::bn254, 300, Scalars::uniform, 6, 2), how);
  testing::Programs made = testing::make_programs(workload, Mode::resident, Path::own, 60);
  std::string first;
  for (int i = 0; i < 4; ++i) {
    testing::take_sample(workload, made, i % 2 == 0 ? "equal" : "dynamic", Mode::resident);
    if (i == 0) first = workload.digest();
    CHECK(workload.digest() == first);
    CHECK(workload.verify(VerifyLevel::full, 1).status == Verdict::Status::passed);
  }
}

TEST_CASE("a device whose products are wrong is refused before anything is measured") {
  MsmWorkload workload = workload_of(Terms::random(Curve::bn254, 10, Scalars::uniform, 6, 2), {});
  try {
    testing::make_programs(workload, Mode::resident, Path::gpu, 0, 1,
                           rolled() + " -DP_INVERSE=0xe4866387u");
    FAIL("a wrong constant passed the self-test");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::unsupported);
    CHECK(std::string(error.what())
              .find("the self-test of its integer arithmetic failed: a square is wrong") !=
          std::string::npos);
  }
}
