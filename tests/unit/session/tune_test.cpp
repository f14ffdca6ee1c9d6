// Kernel variants: all are measured, only verified ones are eligible, and the fastest is cached and
// used; a bad cache entry causes a warning.
#include "lib/session/tune.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <fstream>

#include "lib/session/kernel_variants.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/sum_session.hpp"

using namespace mgpu;
using namespace mgpu::test;

namespace {

// Returns the usual kernel, one twice as fast, one that is faster still but wrong, and one hardly
// faster; "missing" is in no table of kernels.
FakeKernels variant_kernels() {
  const FakeKernelCode usual = sum_kernels().at("sum_slice");
  const auto faster = [&](double factor) {
    FakeKernelCode code = usual;
    code.ops = [=](const Grid& grid, std::span<const FakeArg> args) {
      return usual.ops(grid, args) / factor;
    };
    return code;
  };
  FakeKernelCode wrong = faster(8);
  wrong.run = [=](const Grid& grid, std::span<const FakeArg> args) {
    usual.run(grid, args);
    const auto out = std::get<std::span<std::byte>>(args[3]);
    out[std::get<std::uint32_t>(args[4]) * sizeof(std::uint64_t)] ^= std::byte{1};
  };
  return {{"usual", usual}, {"quick", faster(2)}, {"wrong", wrong}, {"same", faster(1.005)}};
}

// Two identical devices, and a suite with these variants.
struct TuneBench {
  explicit TuneBench(std::vector<std::string> variants)
      : backend(twins(2), variant_kernels()), devices(backend.enumerate().devices) {
    info = suite_of([variants = std::move(variants)](const SuiteParams& params) {
      auto workload = std::make_unique<SumWorkload>(params.size);
      workload->offer(variants);
      return workload;
    });
    info.default_size = info.quick_size = info.full_size = 1 << 14;
    info.options = {{"shape", "", {"round", "square"}}, {"data", "", {"plain"}}};
    info.has_kernel_variants = true;
    info.tuned_options = {"shape"};
  }
  std::vector<Tuning> tune(bool afresh = false) {
    return tune_suites(backend, devices, {&info, 1}, store, afresh, warnings);
  }
  Problem problem() const {
    Problem made = problem_of(info, 1000);
    made.params.options = {{"shape", "square"}, {"data", "plain"}};
    return made;
  }
  // Returns the variant that a session uses with this store.
  std::string taken(const CalibrationStore& from) {
    SessionOptions options = options_on(devices, problem(), {Mode::resident}, "equal");
    options.stop.exactly = 1;
    QuietObserver observer;
    options.variants = {cached_variants(problem(), devices, from, observer.warnings)};
    const Report report = run_session(backend, options, {}, observer);
    REQUIRE(report.runs.at(0).status == Status::ok);
    warnings = observer.warnings;
    return report.runs.at(0).per_device.at(0).kernel_variant.value_or("");
  }

  SuiteInfo info;
  FakeBackend backend;
  std::vector<Device> devices;
  std::vector<std::string> warnings;
  TemporaryFolder folder;
  CalibrationStore store{folder.path(), {"1", "kernels"}};
};

}  // namespace

TEST_CASE("the fastest variant that verifies is chosen, once for devices alike, and cached") {
  TuneBench bench({"usual", "wrong", "missing", "quick", "same"});
  const auto all = bench.tune();
  REQUIRE(all.size() == 4);  // two shapes on two devices
  for (const Tuning& tuning : all) {
    CHECK(tuning.variant.name == "quick");
    CHECK(tuning.measured);
  }
  REQUIRE(all[0].tried.size() == 5);
  CHECK(all[1].tried.empty());
  CHECK(all[0].work == "sum shape=round");
  CHECK(all[0].tried[1].ops_per_s == 0);
  CHECK(all[0].tried[1].why.find("wrong") != std::string::npos);
  CHECK(all[0].tried[2].ops_per_s == 0);
  CHECK(all[0].tried[3].ops_per_s > 1.5 * all[0].tried[0].ops_per_s);
  CHECK(bench.warnings.empty());
  const auto cached = bench.tune();
  REQUIRE(cached.size() == 4);
  CHECK_FALSE(cached[0].measured);
  CHECK(cached[3].variant.name == "quick");
  CHECK(bench.tune(true)[0].measured);
}

TEST_CASE("the default variant stays unless one is clearly faster; none is cached if none works") {
  CHECK(TuneBench({"usual", "same"}).tune()[0].variant.name == "usual");
  TuneBench bench({"wrong", "missing"});
  CHECK(bench.tune()[0].variant.name.empty());
  CHECK(cached_variants(bench.problem(), bench.devices, bench.store, bench.warnings).empty());
  CHECK(TuneBench({"usual"}).tune().empty());
}

TEST_CASE("a session takes and records what is cached, and computes as usual if it cannot") {
  TuneBench bench({"usual", "quick"});
  bench.tune();
  CHECK(bench.taken(bench.store) == "quick");
  CHECK(bench.warnings.empty());
  CHECK(bench.taken(CalibrationStore({}, {"1", "kernels"})) == "usual");
  CHECK(bench.warnings.empty());
  const auto is_told = [&](const CalibrationStore& from, const char* why) {
    CHECK(bench.taken(from) == "usual");
    REQUIRE_FALSE(bench.warnings.empty());
    CHECK(bench.warnings[0].find(why) != std::string::npos);
  };
  for (const Device& device : bench.devices)
    bench.store.save_variant(device, "sum shape=square", {"by hand", 1}, bench.warnings);
  is_told(bench.store, "by hand");
  is_told(CalibrationStore(bench.folder.path(), {"2", "kernels"}), "another build");
  for (const auto& entry : std::filesystem::directory_iterator(bench.folder.path()))
    std::ofstream(entry.path()) << "{";
  is_told(bench.store, "cut off");
}
