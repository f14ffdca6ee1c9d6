// How long the overview of a machine takes that nobody has at hand, on a virtual clock: without
// what the host does.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "app/commands.hpp"
#include "app/dispatch.hpp"
#include "app/terminal.hpp"
#include "tests/support/fake_calibration.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/sum_suite.hpp"

using namespace mgpu;
using namespace mgpu::test;

namespace {

// Returns when the work on each suite began, and when that on a last one did, which ends the
// others.
std::vector<double> suites_begin(std::size_t devices, std::size_t count) {
  std::vector<FakeDevice> fakes;
  for (std::size_t k = 0; k < devices; ++k) {
    fakes.push_back(calibration_device(fmt::format("0:{}", k), DeviceType::gpu));
    fakes.back().facts.max_allocation = 1 << 20;  // makes calibration faster for the host
  }
  FakeKernels kernels = calibration_kernels();
  kernels.merge(sum_kernels());
  kernels["sum_slice"].ops = [](const Grid&, std::span<const FakeArg> args) {
    return 1e6 * static_cast<double>(std::get<std::uint64_t>(args[2]));  // a microsecond per item
  };
  Backend* clock = nullptr;
  std::vector<double> begun(count + 1, 0.0);
  std::vector<SuiteInfo> suites;
  for (std::size_t k = 0; k <= count; ++k) {
    suites.push_back(sum_suite(true));
    SuiteInfo& suite = suites.back();
    suite.name += fmt::format("{:02}", k);
    suite.host_bytes = [](const SuiteParams& params) { return 8 * params.size; };
    suite.size_of_input = [](SuiteParams&) { return std::uint64_t{0}; };
    suite.shape = [](const SuiteParams& params) { return SumWorkload(params.size).shape(); };
    suite.make = [&, k, make = suite.make](const SuiteParams& params) {
      if (begun[k] == 0) begun[k] = seconds(clock->now());
      return make(params);
    };
  }
  TemporaryFolder folder;
  const Environment environment({{"XDG_STATE_HOME", folder.path()}});
  const std::vector<std::string> argv{"mgpu-bench", "run", "--no-cache"};
  CapturedOutput captured;
  const Invocation invocation = parse_command_line(argv, suites, environment, "");
  const auto make_backend = [&] {
    auto backend = std::make_unique<FakeBackend>(fakes, kernels);
    clock = backend.get();
    return backend;
  };
  const int code = exit_code_of([&] {
    return run_command({invocation, environment, suites, {"0", "", argv}, make_backend});
  });
  INFO(captured.err);
  CHECK(code == 0);
  return begun;
}

}  // namespace

TEST_CASE("devices take less than a minute for an overview of twelve suites, ten seconds for one") {
  for (const std::size_t devices : {1, 4, 8}) {
    CAPTURE(devices);
    const std::vector<double> begun = suites_begin(devices, 12);
    CHECK(begun[1] > 0);
    CHECK(begun[1] < 10);
    CHECK(begun[12] < 60);
    CHECK(begun[12] < begun[1] * 20);
  }
}
