// Multi-scalar multiplication on the present devices, compared with OpenSSL term by term and with
// known discrete logarithms. CPUs run both ways of launching; an NVIDIA GPU runs its carry chains
// and the portable kernels; unrolled kernels run only if there is a GPU.
#include <doctest/doctest.h>

#include <random>

#include "suites/common/sha256_hex.hpp"
#include "suites/msm/msm_workload.hpp"
#include "suites/msm/reference.hpp"
#include "tests/support/machine.hpp"
#include "tests/support/msm_terms.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/thorough.hpp"

namespace mgpu::msm {
namespace {

using testing::How;
using testing::Path;

constexpr Curve kCurves[] = {Curve::bn254, Curve::bls12_381};
constexpr Mode kModes[] = {Mode::resident, scalars_mode, Mode::end_to_end};

// Returns the option that avoids unrolled products, for which PoCL takes minutes.
std::string rolled() {
  return testing::machine().open.front()->resources().traits().cpu ? " -DMSM_ROLLED" : "";
}

// Widths of windows: each is a set of kernels, which PoCL compiles for seconds.
constexpr unsigned kNarrow = 4, kWide = 9;

// Returns the path of GPUs only in the thorough tier: PoCL compiles their kernels for half a minute
// per curve.
Path gpu_path() { return testing::is_thorough() ? Path::gpu : Path::own; }

How how(Path path, const std::string& strategy = "equal", Mode mode = Mode::resident,
        Items pipeline = 0) {
  return {strategy, mode, path, pipeline, path == Path::gpu ? 1U : 0U, rolled()};
}

MsmOptions options_with(unsigned window_bits = kNarrow, Axis axis = Axis::points) {
  MsmOptions options;
  options.axis = axis;
  options.window_bits = window_bits;
  options.devices = testing::machine().open.size();
  options.fixed_base = FixedBase::no;
  return options;
}

std::string digest_of(Terms terms, const MsmOptions& options, const How& how) {
  INFO(terms.count(), " terms in windows of ", options.window_bits);
  MsmWorkload workload(std::move(terms), options);
  return testing::digest_of(workload, how);
}

}  // namespace

TEST_CASE("msm: sums of random terms are those of known logarithms, in every mode and strategy" *
          testing::if_thorough()) {
  std::size_t turn = 0;
  const auto& strategies = all_strategies();
  auto counts = testing::first_when_quick<std::uint64_t>(4, {0, 1, 33, 4097, 2, 3, 32, 1234, 2001});
  for (const Curve curve : testing::first_when_quick(1, {Curve::bn254, Curve::bls12_381})) {
    for (const std::uint64_t count : counts) {
      const auto& strategy = strategies[turn % strategies.size()].name;
      digest_of(Terms::random(curve, count, Scalars::uniform, count, 2),
                options_with(kNarrow, turn % 4 == 3 ? Axis::windows : Axis::points),
                how(turn % 5 < 2 ? gpu_path() : Path::own, strategy, kModes[turn % 3],
                    turn % 2 == 0 ? 0 : count / 5 + 1));
      ++turn;
    }
  }
}

TEST_CASE("msm: difficult terms sum to OpenSSL's point by every window, axis, mode and strategy" *
          testing::if_thorough()) {
  for (const Curve curve : kCurves) {
    const auto list = testing::difficult_terms(curve, 120, 17);
    const PlainPoint sum = testing::expected_sum(curve, list);
    for (const Path path : testing::first_when_quick(1, {Path::own, Path::gpu}))
      for (const unsigned bits : testing::first_when_quick(1, {kNarrow, kWide, 0u, 2u, 13u}))
        CHECK(digest_of(testing::terms_of(curve, list), options_with(bits), how(path)) ==
              sum.x + sum.y);
    for (const Axis axis : {Axis::points, Axis::windows}) {
      MsmWorkload workload(testing::terms_of(curve, list), options_with(kNarrow, axis));
      for (const Mode mode : kModes) {
        if (!testing::is_thorough() && (axis == Axis::windows) != (mode == scalars_mode)) continue;
        for (std::size_t devices = 1; devices <= testing::machine().open.size(); ++devices) {
          testing::Programs made(workload, {"", mode, Path::own, 23, devices});
          for (const StrategyInfo& info : all_strategies()) {
            INFO(info.name, " on ", devices);
            workload.begin_sample();
            made.sample(workload, info.name);
            CHECK(workload.digest() == sum.x + sum.y);
          }
        }
      }
    }
  }
}

TEST_CASE("msm: buckets of equal and of opposite points are added up" * testing::if_thorough()) {
  for (const Curve curve : kCurves)
    for (const bool opposite : {false, true}) {
      std::vector<testing::OracleTerm> list(
          8, testing::text_of(Terms::random(curve, 1, Scalars::uniform, 3, 1)).front());
      for (std::uint64_t i = 0; i < list.size(); ++i) {
        std::uint64_t ignored = 0;
        const Scalar digit{i + 1};
        list[i].scalar =
            to_hex(opposite && i % 2 == 1 ? subtract(order_of(curve), digit, ignored) : digit);
      }
      const PlainPoint sum = testing::expected_sum(curve, list);
      MsmOptions options = options_with();
      for (const FixedBase fixed_base : {FixedBase::no, FixedBase::yes}) {
        options.fixed_base = fixed_base;
        CHECK(digest_of(testing::terms_of(curve, list), options, how(Path::gpu)) == sum.x + sum.y);
      }
    }
}

TEST_CASE("msm: a batch has the same sums in every mode and strategy, the first that of one sum") {
  for (const Curve curve : testing::first_when_quick(1, {Curve::bn254, Curve::bls12_381})) {
    for (const bool shared : {false, true}) {
      const std::uint64_t count = 50, sums = 7;
      MsmOptions options = options_with();
      if (shared) options.fixed_base = FixedBase::yes;
      const Terms terms = Terms::random(curve, count, Scalars::witness, 5, 2, sums);
      std::string text;
      for (std::uint64_t sum = 0; sum < sums; ++sum) {
        const PlainPoint point = reference_sum(
            curve, std::as_const(terms).scalars().subspan(sum * count, count), *terms.logs());
        text += point.x + point.y;
      }
      std::size_t turn = 0;
      auto is_due = testing::one_in(3);
      for (const StrategyInfo& info : all_strategies()) {
        if (!is_due()) continue;
        const Mode mode = kModes[shared ? turn % 2 : turn % 3];
        const Path path = turn == 0 ? gpu_path() : Path::own;
        INFO(info.name, " ", mode.name, " shared ", shared);
        CHECK(digest_of(Terms::random(curve, count, Scalars::witness, 5, 2, sums), options,
                        how(path, info.name, mode, turn % 3)) ==
              sha256_hex(std::as_bytes(std::span(text))));
        ++turn;
      }
    }
  }
}

namespace {

// A device's stream whose n-th launch finds no memory.
class Short final : public Stream {
 public:
  Short(Stream& real, std::size_t fails_at) : real_(real), left_(fails_at) {}
  void upload(Buffer& to, Bytes offset, std::span<const std::byte> from) override {
    real_.upload(to, offset, from);
  }
  void launch(Kernel& kernel, const Grid& grid, std::span<const KernelArg> args) override {
    if (left_-- == 0) throw Error(ErrorKind::out_of_memory, "no memory for a launch");
    real_.launch(kernel, grid, args);
  }
  void download(Buffer& from, Bytes offset, std::span<std::byte> to) override {
    real_.download(from, offset, to);
  }

 private:
  Stream& real_;
  std::size_t left_;
};

}  // namespace

TEST_CASE("msm: a slice of a batch that finds no memory leaves nothing behind") {
  constexpr std::uint64_t count = 50, sums = 3;
  MsmWorkload workload(Terms::random(Curve::bn254, count, Scalars::uniform, 5, 2, sums),
                       options_with());
  testing::Programs made(workload, {.devices = 1});
  OpenDevice& device = *testing::machine().open.front();
  DeviceProgram& program = *made.programs.front();
  for (std::size_t fails_at = 0; fails_at < 36; fails_at += 3) {
    CAPTURE(fails_at);
    workload.begin_sample();
    program.prepare(device.stream());
    Short stream(device.stream(), fails_at);
    CHECK(test::kind_of_error([&] {
            program.enqueue({0, sums}, 0, stream);
          }) == ErrorKind::out_of_memory);
    testing::wait_for(device);
    for (Items sum = 0; sum < sums; ++sum) program.enqueue({sum, sum + 1}, 0, device.stream());
    const Completion completion = program.collect(device.stream());
    testing::wait_for(device);
    completion();
    workload.merge();
    CHECK(workload.verify(VerifyLevel::full, 1).status == Verdict::Status::passed);
  }
}

TEST_CASE("msm: a device that has added points of a slice that finds no memory fails") {
  MsmWorkload workload(Terms::random(Curve::bn254, 50, Scalars::uniform, 5, 2), options_with());
  testing::Programs made(workload, {.devices = 1});
  OpenDevice& device = *testing::machine().open.front();
  DeviceProgram& program = *made.programs.front();
  for (const auto& [fails_at, kind] : {std::pair{0, ErrorKind::out_of_memory},
                                       {7, ErrorKind::out_of_memory},
                                       {9, ErrorKind::device}}) {
    CAPTURE(fails_at);
    workload.begin_sample();
    program.prepare(device.stream());
    Short stream(device.stream(), static_cast<std::size_t>(fails_at));
    CHECK(test::kind_of_error([&] { program.enqueue({0, 50}, 0, stream); }) == kind);
    testing::wait_for(device);
  }
}

TEST_CASE("msm: points made on a device are those made on the host, to the last of a short block" *
          testing::if_thorough()) {
  for (const Curve curve : kCurves) {
    Terms terms = Terms::random(curve, 50, Scalars::uniform, 12, 1);
    // Checks one term at a time: if its scalar is 1 and all others are 0, the sum is that point.
    for (const std::size_t at : {0u, 1u, 15u, 16u, 48u, 49u}) {
      Terms one = Terms::seeded(curve, 50, Scalars::uniform, 12, 1);
      for (std::size_t i = 0; i < 50; ++i) one.scalars()[i] = Scalar{i == at, 0, 0, 0};
      const PlainPoint expected = host_points(curve).plain(terms.point_bytes(at, at + 1));
      CHECK(digest_of(std::move(one), options_with(), how(Path::gpu)) == expected.x + expected.y);
    }
  }
}

TEST_CASE("msm: thousands of points in one bucket are cut into tasks, windows beyond a cache too") {
  for (const Scalars scalars : {Scalars::equal, Scalars::witness})
    for (const Path path : testing::first_when_quick(1, {Path::own, Path::gpu}))
      digest_of(Terms::random(Curve::bn254, testing::is_thorough() ? 20'000 : 6'000, scalars, 8, 2),
                options_with(kWide), how(path));
  for (const std::uint64_t cached : {1, 100, 400}) {
    MsmOptions options = options_with();
    options.cached_entries = cached;
    digest_of(Terms::random(Curve::bn254, 900, Scalars::uniform, 8, 2), options, how(gpu_path()));
  }
}

TEST_CASE("msm: by a table of multiples all windows share their buckets, in one pass or several") {
  for (const Curve curve : testing::first_when_quick(1, {Curve::bn254, Curve::bls12_381})) {
    const auto list = testing::difficult_terms(curve, 130, 5);
    const PlainPoint sum = testing::expected_sum(curve, list);
    MsmOptions options = options_with();
    options.fixed_base = FixedBase::yes;
    MsmWorkload workload(testing::terms_of(curve, list), options);
    for (const Mode mode : {Mode::resident, scalars_mode}) {
      testing::Programs made(workload, how(Path::own, "", mode, 41));
      for (const auto& program : made.programs)
        CHECK(program->kernel_variant().starts_with("table"));
      for (const char* strategy : {"equal", "dynamic", "sequential", "equal"}) {  // used again
        CAPTURE(strategy);
        workload.begin_sample();
        made.sample(workload, strategy);
        CHECK(workload.digest() == sum.x + sum.y);
      }
    }
    for (const auto& [bits, together] :
         {std::pair{kNarrow, 1u}, {kWide, 500u}, {kWide, 1u << 20}}) {
      options.window_bits = bits;
      options.together = together;
      options.cached_entries = bits == kWide ? 60 : 1 << 23;
      CHECK(digest_of(testing::terms_of(curve, list), options,
                      how(bits == kWide ? gpu_path() : Path::own, "equal", Mode::resident, 41)) ==
            sum.x + sum.y);
    }
  }
}

TEST_CASE("msm: a device whose products are wrong is refused before anything is measured" *
          testing::if_thorough()) {
  MsmWorkload workload(Terms::random(Curve::bn254, 10, Scalars::uniform, 6, 2), options_with());
  How wrong = how(Path::gpu);
  wrong.gpu_options += " -DP_INVERSE=0xe4866387u";
  const auto make = [&] { testing::Programs(workload, wrong); };
  CHECK(test::has(test::refusal(make, ErrorKind::unsupported), "self-test"));
}

}  // namespace mgpu::msm
