// Calibrating a set of devices: what is measured, what is taken from the store, what is left when a
// device fails.
#include "lib/session/calibrate.hpp"

#include <doctest/doctest.h>

#include <filesystem>

#include "lib/session/session.hpp"
#include "tests/support/fake_calibration.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/quiet_observer.hpp"
#include "tests/support/sum_workload.hpp"

using namespace mgpu;
using namespace mgpu::test;

namespace {

const CalibrationBasis kBasis{"1", "kernels"};

struct Devices {
  explicit Devices(std::vector<FakeDevice> specs) : backend(specs, calibration_kernels()) {
    for (const FakeDevice& spec : specs) facts.push_back(spec.facts);
  }
  FakeBackend backend;
  std::vector<Device> facts;
};

std::vector<FakeDevice> pair() { return {calibration_device("0:0"), calibration_device("0:1")}; }

}  // namespace

TEST_CASE("devices are measured once, then the cached figures are used until measured afresh") {
  const TemporaryFolder folder;
  const CalibrationStore store(folder.path(), kBasis);
  Devices first(pair());
  const CalibrationResult measured = calibrate(first.backend, first.facts, store, false);
  CHECK(measured.origins == std::vector{CalibrationOrigin::measured, CalibrationOrigin::measured});
  CHECK(measured.link_origin == CalibrationOrigin::measured);
  CHECK(measured.free_memory[1] == first.facts[1].global_memory);

  std::vector<FakeDevice> slower = pair();
  for (FakeDevice& spec : slower) spec.ops_per_s /= 2;
  Devices second(slower);
  const CalibrationResult cached = calibrate(second.backend, second.facts, store, false);
  CHECK(cached.origins == std::vector{CalibrationOrigin::cached, CalibrationOrigin::cached});
  CHECK(cached.link_origin == CalibrationOrigin::cached);
  CHECK(cached.calibration.devices[0]->fp32_flops == measured.calibration.devices[0]->fp32_flops);
  CHECK(cached.calibration.link->up == measured.calibration.link->up);
  CHECK(cached.calibration.link->devices == std::vector<std::string>{"0:0", "0:1"});

  const CalibrationResult afresh = calibrate(second.backend, second.facts, store, true);
  CHECK(afresh.origins == std::vector{CalibrationOrigin::measured, CalibrationOrigin::measured});
  CHECK(afresh.calibration.devices[0]->fp32_flops <
        0.6 * measured.calibration.devices[0]->fp32_flops);
  CHECK(cached_calibration(second.facts, store).calibration.devices[0]->fp32_flops ==
        afresh.calibration.devices[0]->fp32_flops);
  CHECK(afresh.warnings.empty());
}

TEST_CASE("only what is missing is measured") {
  const TemporaryFolder folder;
  const CalibrationStore store(folder.path(), kBasis);
  Devices devices(pair());
  calibrate(devices.backend, std::span(devices.facts).first(1), store, false);
  const CalibrationResult result = calibrate(devices.backend, devices.facts, store, false);
  CHECK(result.origins == std::vector{CalibrationOrigin::cached, CalibrationOrigin::measured});
  CHECK(result.link_origin == CalibrationOrigin::measured);
}

TEST_CASE("without a store, or before anything was cached, nothing is known and nothing is said") {
  const TemporaryFolder folder;
  Devices devices(pair());
  calibrate(devices.backend, devices.facts, CalibrationStore({}, kBasis), false);
  const CalibrationResult result =
      cached_calibration(devices.facts, CalibrationStore(folder.path(), kBasis));
  CHECK_FALSE(result.calibration.devices[0]);
  CHECK_FALSE(result.calibration.link);
  CHECK(result.origins[0] == CalibrationOrigin::none);
  CHECK(result.warnings.empty());
}

namespace {

std::vector<FakeDevice> linked(std::size_t count) {
  std::vector<FakeDevice> specs;
  for (std::size_t i = 0; i < count; ++i) {
    specs.push_back(calibration_device("0:" + std::to_string(i)));
    specs.back().peer_bytes_per_s = static_cast<double>(i + 1) * 1e10;
    specs.back().peer_latency = Nanos{3000};
  }
  return specs;
}

}  // namespace

TEST_CASE(
    "links between devices are measured as they are, both ways at once, cached, and found in "
    "whatever order") {
  const TemporaryFolder folder;
  const CalibrationStore store(folder.path(), kBasis);
  Devices devices(linked(3));
  const CalibrationResult measured = calibrate(devices.backend, devices.facts, store, false);
  CHECK(measured.warnings.empty());
  CHECK(measured.peers_origin == CalibrationOrigin::measured);
  const PeerLinks& links = measured.calibration.peers;
  REQUIRE(links.devices() == 3);
  for (std::size_t from = 0; from < 3; ++from) {
    for (std::size_t to = 0; to < 3; ++to) {
      if (from == to) continue;
      const PeerLink& link = links.of(from, to);
      CHECK(link.path == PeerPath::direct);
      CHECK(link.latency == Nanos{3000});
      // Both ways take as long as the slower one.
      CHECK(link.bytes_per_s ==
            doctest::Approx(static_cast<double>(std::min(from, to) + 1) * 1e10).epsilon(0.001));
    }
  }
  std::vector<Device> others{devices.facts[2], devices.facts[0], devices.facts[1]};
  const CalibrationResult cached = cached_calibration(others, store);
  CHECK(cached.peers_origin == CalibrationOrigin::cached);
  CHECK(cached.calibration.peers == links.among(std::vector<std::size_t>{2, 0, 1}));
  CHECK(cached_calibration(std::span(devices.facts).first(2), store).calibration.peers.empty());
}

TEST_CASE("a cache without links between devices is used, and only they are measured") {
  const TemporaryFolder folder;
  const CalibrationStore store(folder.path(), kBasis);
  Devices devices(pair());
  calibrate(devices.backend, devices.facts, store, false);
  for (const auto& file : std::filesystem::directory_iterator(folder.path()))
    if (file.path().filename().string().starts_with("peers-")) std::filesystem::remove(file);
  const CalibrationResult older = cached_calibration(devices.facts, store);
  CHECK(older.warnings.empty());
  CHECK(older.link_origin == CalibrationOrigin::cached);
  CHECK(older.peers_origin == CalibrationOrigin::none);
  CHECK(older.calibration.peers.empty());
  const CalibrationResult result = calibrate(devices.backend, devices.facts, store, false);
  CHECK(result.link_origin == CalibrationOrigin::cached);
  CHECK(result.peers_origin == CalibrationOrigin::measured);
}

TEST_CASE(
    "links that fail, or bring something else than was sent, are a warning, and all else is "
    "known") {
  for (const auto failure : {FakeFault::Kind::error, FakeFault::Kind::corrupt}) {
    const TemporaryFolder folder;
    std::vector<FakeDevice> specs = pair();
    specs[1].script = fails_from(FakeCall::exchange, 0, failure);
    Devices devices(specs);
    const CalibrationStore store(folder.path(), kBasis);
    const CalibrationResult result = calibrate(devices.backend, devices.facts, store, false);
    CHECK(result.failed == 0);
    CHECK(result.link_origin == CalibrationOrigin::measured);
    CHECK(result.calibration.peers.empty());
    REQUIRE(result.warnings.size() == 1);
    CHECK(result.warnings[0].starts_with("links between the devices are not calibrated: "));
    CHECK(cached_calibration(devices.facts, store).calibration.peers.empty());
  }
}

TEST_CASE("a device alone has its own link, and none to others") {
  Devices devices({calibration_device("0:0")});
  const CalibrationResult result =
      calibrate(devices.backend, devices.facts, CalibrationStore({}, kBasis), false);
  REQUIRE(result.calibration.link);
  CHECK(result.calibration.link->up == result.calibration.devices[0]->pinned_up);
  CHECK(result.calibration.link->down == result.calibration.devices[0]->pinned_down);
  CHECK(result.link_origin == CalibrationOrigin::measured);
  CHECK(result.calibration.peers.empty());
}

TEST_CASE(
    "a device that fails or hangs is a warning, the others are measured, and the link is not "
    "known") {
  for (const auto failure : {FakeFault::Kind::error, FakeFault::Kind::hang}) {
    const TemporaryFolder folder;
    std::vector<FakeDevice> specs = pair();
    specs[0].script = fails_from(FakeCall::launch, 0, failure);
    Devices devices(specs);
    const CalibrationResult result =
        calibrate(devices.backend, devices.facts, CalibrationStore(folder.path(), kBasis), false);
    CHECK(result.failed == 1);
    CHECK(result.origins == std::vector{CalibrationOrigin::none, CalibrationOrigin::measured});
    CHECK_FALSE(result.calibration.devices[0]);
    CHECK_FALSE(result.calibration.link);
    REQUIRE(result.warnings.size() == 1);
    CHECK(result.warnings[0].find("0:0") != std::string::npos);
  }
}

TEST_CASE("devices of a kind whose calibrations are stale are one warning") {
  const TemporaryFolder folder;
  std::vector<FakeDevice> specs = pair();
  for (FakeDevice& spec : specs) spec.facts.name = "Twin";
  Devices devices(specs);
  calibrate(devices.backend, devices.facts, CalibrationStore(folder.path(), kBasis), false);
  const CalibrationResult stale =
      cached_calibration(devices.facts, CalibrationStore(folder.path(), {"2", "kernels"}));
  CHECK(stale.warnings.size() == 2);  // one for both devices, one for what they do together
  CHECK_FALSE(stale.calibration.devices[0]);
}

TEST_CASE("a session's record holds what is known of its devices") {
  std::vector<FakeDevice> specs = pair();
  FakeBackend backend(specs, sum_kernels());
  static SuiteInfo suite;
  suite.name = "sum";
  suite.size_name = "items";
  suite.make = [](const SuiteParams& params) -> std::unique_ptr<Workload> {
    return std::make_unique<SumWorkload>(params.size);
  };
  SessionOptions options;
  SuiteParams params;
  params.size = 1000;
  options.problems = {{&suite, params}};
  options.modes = {Mode::resident};
  options.strategies = parse_strategies("equal");
  options.devices = {specs[0].facts, specs[1].facts};
  options.device_counts = {2};
  options.stop.exactly = 1;
  options.calibration.devices = {std::nullopt, Capability{}};
  options.calibration.devices[1]->fp32_flops = 7;
  QuietObserver observer;
  const Report report = run_session(backend, options, {}, observer);
  CHECK_FALSE(report.devices[0].capability);
  REQUIRE(report.devices[1].capability);
  CHECK(report.devices[1].capability->fp32_flops == 7);
}
