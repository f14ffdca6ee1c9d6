// Kernel variants: all are measured, only what verifies is eligible, the fastest is cached and
// taken; a bad entry is a warning.
#include "lib/session/tune.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <fstream>

#include "lib/session/kernel_variants.hpp"
#include "lib/session/session.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/quiet_observer.hpp"
#include "tests/support/sum_workload.hpp"

using namespace mgpu;
using namespace mgpu::test;

namespace {

const CalibrationBasis kBasis{"1", "kernels"};

// The usual kernel, one twice as fast, one that is faster still and wrong, one hardly faster;
// "missing" is in no table of kernels.
FakeKernels kernels() {
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
    std::byte* out = std::get<std::span<std::byte>>(args[3]).data() +
                     std::get<std::uint32_t>(args[4]) * sizeof(std::uint64_t);
    std::uint64_t sum = 0;
    std::memcpy(&sum, out, sizeof sum);
    ++sum;
    std::memcpy(out, &sum, sizeof sum);
  };
  return {{"usual", usual}, {"quick", faster(2)}, {"wrong", wrong}, {"same", faster(1.005)}};
}

SuiteInfo suite(std::vector<std::string> variants) {
  SuiteInfo info;
  info.name = "sum";
  info.default_size = info.quick_size = info.full_size = 1 << 16;
  info.options = {{"shape", "", {"round", "square"}}, {"data", "", {"plain"}}};
  info.has_kernel_variants = true;
  info.tuned_options = {"shape"};
  info.modes = {Mode::resident, Mode::end_to_end};
  info.make = [variants](const SuiteParams& params) {
    auto workload = std::make_unique<SumWorkload>(params.size);
    workload->offer(variants);
    return workload;
  };
  return info;
}

struct Bench {
  explicit Bench(std::vector<std::string> variants)
      : info(suite(std::move(variants))),
        backend({fake_device("0:0"), fake_device("0:1")}, kernels()) {
    for (const char* id : {"0:0", "0:1"}) {
      devices.push_back(fake_device(id).facts);
      devices.back().name = "alike";
    }
  }
  std::vector<Tuning> tune(const CalibrationStore& store, bool afresh = false) {
    return tune_suites(backend, devices, {&info, 1}, store, afresh, warnings);
  }
  Problem problem(const std::string& shape) const {
    Problem made{&info, {}};
    made.params.size = 1000;
    made.params.options = {{"shape", shape}, {"data", "plain"}};
    return made;
  }
  SuiteInfo info;
  FakeBackend backend;
  std::vector<Device> devices;
  std::vector<std::string> warnings;
};

}  // namespace

TEST_CASE("the fastest variant that verifies is chosen, once for devices alike, and cached") {
  const TemporaryFolder folder;
  const CalibrationStore store(folder.path(), kBasis);
  Bench bench({"usual", "wrong", "missing", "quick", "same"});
  const auto all = bench.tune(store);
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
  const auto cached = bench.tune(store);
  REQUIRE(cached.size() == 4);
  CHECK_FALSE(cached[0].measured);
  CHECK(cached[3].variant.name == "quick");
  CHECK(bench.tune(store, true)[0].measured);
}

TEST_CASE(
    "the default variant stays where another is hardly faster, and nothing is cached where none "
    "works") {
  const TemporaryFolder folder;
  const CalibrationStore store(folder.path(), kBasis);
  CHECK(Bench({"usual", "same"}).tune(store)[0].variant.name == "usual");
  const TemporaryFolder other;
  const CalibrationStore empty(other.path(), kBasis);
  Bench bench({"wrong", "missing"});
  CHECK(bench.tune(empty)[0].variant.name.empty());
  CHECK(cached_variants(bench.problem("round"), bench.devices, empty, bench.warnings).empty());
  CHECK(Bench({"usual"}).tune(empty).empty());
}

TEST_CASE(
    "a session takes what is cached and records it; without a store, or with an entry it cannot "
    "use, it computes as usual") {
  const TemporaryFolder folder;
  const CalibrationStore store(folder.path(), kBasis);
  Bench bench({"usual", "quick"});
  bench.tune(store);
  const auto run = [&](const CalibrationStore& from, QuietObserver& hearing) {
    SessionOptions options;
    options.problems = {bench.problem("square")};
    options.modes = {Mode::resident};
    options.strategies = parse_strategies("equal");
    options.devices = bench.devices;
    options.device_counts = {2};
    options.stop.exactly = 1;
    options.variants = {
        cached_variants(options.problems.front(), bench.devices, from, hearing.warnings)};
    const Report report = run_session(bench.backend, options, {}, hearing);
    REQUIRE(report.runs.at(0).status == Status::ok);
    return report.runs.at(0).per_device.at(0).kernel_variant;
  };
  QuietObserver hearing;
  CHECK(run(store, hearing) == "quick");
  CHECK(run(CalibrationStore({}, kBasis), hearing) == "usual");
  CHECK(hearing.warnings.empty());
  const auto files = [&](const auto& change) {
    for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
      change(entry.path());
  };
  for (const Device& device : bench.devices)
    store.save_variant(device, "sum shape=square", {"by hand", 1}, hearing.warnings);
  CHECK(run(store, hearing) == "usual");
  CHECK(hearing.warnings.at(0).find("\"by hand\"") != std::string::npos);
  hearing.warnings.clear();
  CHECK(run(CalibrationStore(folder.path(), {"2", "kernels"}), hearing) == "usual");
  CHECK(hearing.warnings.at(0).find("another build") != std::string::npos);
  hearing.warnings.clear();
  files([](const std::filesystem::path& file) { std::ofstream(file) << "{"; });
  CHECK(run(store, hearing) == "usual");
  CHECK(hearing.warnings.at(0).find("cut off") != std::string::npos);
}
