// Calibration of a set of devices: figures that are measured, figures from the store, and those
// that remain when a device fails.
#include "lib/session/calibrate.hpp"

#include <doctest/doctest.h>

#include <filesystem>

#include "tests/support/fake_calibration.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/sum_session.hpp"

using namespace mgpu;
using namespace mgpu::test;

namespace {

constexpr auto kNone = CalibrationOrigin::none, kMeasured = CalibrationOrigin::measured,
               kCached = CalibrationOrigin::cached;

// Returns CPUs for which as little as possible is measured.
std::vector<FakeDevice> few_figures(std::size_t count = 2) {
  std::vector<FakeDevice> specs;
  for (std::size_t i = 0; i < count; ++i) {
    specs.push_back(calibration_device("0:" + std::to_string(i), DeviceType::cpu));
    specs.back().peer_bytes_per_s = static_cast<double>(i + 1) * 1e9;
    specs.back().peer_latency = Nanos{3000};
    specs.back().facts.max_allocation = Bytes{1} << 20;
  }
  return specs;
}

struct Calibrated {
  explicit Calibrated(std::vector<FakeDevice> specs = few_figures())
      : backend(specs, calibration_kernels()) {
    for (const FakeDevice& spec : specs) facts.push_back(spec.facts);
  }
  CalibrationResult measure(bool afresh = false) {
    return calibrate(backend, facts, store, afresh);
  }
  CalibrationResult cached() const { return cached_calibration(facts, store); }

  FakeBackend backend;
  std::vector<Device> facts;
  TemporaryFolder folder;
  CalibrationStore store{folder.path(), {"1", "kernels"}};
};

}  // namespace

TEST_CASE("devices are measured once, then the cached figures are used until measured afresh") {
  Calibrated first;
  const CalibrationResult was = first.measure();
  CHECK(was.origins == std::vector{kMeasured, kMeasured});
  CHECK(was.link_origin == kMeasured);
  CHECK(was.free_memory[1] == first.facts[1].global_memory);

  std::vector<FakeDevice> slower = few_figures();
  for (FakeDevice& spec : slower) spec.ops_per_s /= 2;
  Calibrated second(slower);
  const CalibrationResult known = calibrate(second.backend, second.facts, first.store, false);
  CHECK(known.origins == std::vector{kCached, kCached});
  CHECK(known.link_origin == kCached);
  CHECK(known.calibration.devices[0]->fp32_flops == was.calibration.devices[0]->fp32_flops);
  CHECK(known.calibration.link->up == was.calibration.link->up);
  CHECK(known.calibration.link->devices == std::vector<std::string>{"0:0", "0:1"});

  const CalibrationResult afresh = calibrate(second.backend, second.facts, first.store, true);
  CHECK(afresh.origins == std::vector{kMeasured, kMeasured});
  CHECK(afresh.calibration.devices[0]->fp32_flops < 0.6 * was.calibration.devices[0]->fp32_flops);
  CHECK(first.cached().calibration.devices[0]->fp32_flops ==
        afresh.calibration.devices[0]->fp32_flops);
  CHECK(afresh.warnings.empty());
}

TEST_CASE("only what is missing is measured: a device, or the links between them") {
  Calibrated devices;
  CHECK(devices.cached().warnings.empty());  // no warning about figures that were never cached
  CHECK(devices.cached().origins[0] == kNone);
  calibrate(devices.backend, devices.facts, CalibrationStore({}, {"1", "kernels"}), false);
  CHECK_FALSE(devices.cached().calibration.devices[0]);
  CHECK_FALSE(devices.cached().calibration.link);
  const CalibrationResult alone =
      calibrate(devices.backend, std::span(devices.facts).first(1), devices.store, false);
  REQUIRE(alone.calibration.link);
  CHECK(alone.calibration.link->up == alone.calibration.devices[0]->pinned_up);
  CHECK(alone.calibration.link->down == alone.calibration.devices[0]->pinned_down);
  CHECK(alone.link_origin == kMeasured);
  CHECK(alone.calibration.peers.empty());
  const CalibrationResult both = devices.measure();
  CHECK(both.origins == std::vector{kCached, kMeasured});
  CHECK(both.link_origin == kMeasured);

  for (const auto& file : std::filesystem::directory_iterator(devices.folder.path()))
    if (file.path().filename().string().starts_with("peers-")) std::filesystem::remove(file);
  const CalibrationResult older = devices.cached();
  CHECK(older.warnings.empty());
  CHECK(older.link_origin == kCached);
  CHECK(older.peers_origin == kNone);
  CHECK(older.calibration.peers.empty());
  const CalibrationResult result = devices.measure();
  CHECK(result.link_origin == kCached);
  CHECK(result.peers_origin == kMeasured);
}

TEST_CASE("links between devices are measured both ways at once, cached, and found in any order") {
  Calibrated devices(few_figures(3));
  const CalibrationResult result = devices.measure();
  CHECK(result.warnings.empty());
  CHECK(result.peers_origin == kMeasured);
  const PeerLinks& links = result.calibration.peers;
  REQUIRE(links.devices() == 3);
  for (std::size_t from = 0; from < 3; ++from) {
    for (std::size_t to = 0; to < 3; ++to) {
      if (from == to) continue;
      const PeerLink& link = links.of(from, to);
      CHECK(link.path == PeerPath::direct);
      CHECK(link.latency == Nanos{3000});
      // Both directions together take as long as the slower one.
      CHECK(link.bytes_per_s ==
            doctest::Approx(static_cast<double>(std::min(from, to) + 1) * 1e9).epsilon(0.001));
    }
  }
  const std::vector<Device> others{devices.facts[2], devices.facts[0], devices.facts[1]};
  const CalibrationResult known = cached_calibration(others, devices.store);
  CHECK(known.peers_origin == kCached);
  CHECK(known.calibration.peers == links.among(std::vector<std::size_t>{2, 0, 1}));
  CHECK(cached_calibration(std::span(devices.facts).first(2), devices.store)
            .calibration.peers.empty());
}

TEST_CASE("what fails is one warning that names it, and all else is known") {
  using enum FakeFault::Kind;
  for (const auto& [call, kind] : {std::pair{FakeCall::exchange, error},
                                   {FakeCall::exchange, corrupt},
                                   {FakeCall::launch, error},
                                   {FakeCall::launch, hang}}) {
    std::vector<FakeDevice> specs = few_figures();
    specs[1].script = fails_from(call, 0, kind);
    Calibrated devices(specs);
    const CalibrationResult result = devices.measure();
    const bool links = call == FakeCall::exchange;  // only the links fail
    CHECK(result.failed == (links ? 0 : 1));
    CHECK(result.origins == std::vector{kMeasured, links ? kMeasured : kNone});
    CHECK(result.link_origin == (links ? kMeasured : kNone));
    CHECK(result.calibration.devices[1].has_value() == links);
    CHECK(result.calibration.link.has_value() == links);
    CHECK(result.calibration.peers.empty());
    REQUIRE(result.warnings.size() == 1);
    CHECK(result.warnings[0].find(links ? "links" : "0:1") != std::string::npos);
    CHECK(devices.cached().calibration.peers.empty());
  }
}

TEST_CASE("devices of a kind whose calibrations are stale are one warning") {
  std::vector<FakeDevice> specs = few_figures();
  for (FakeDevice& spec : specs) spec.facts.name = "Twin";
  Calibrated devices(specs);
  devices.measure();
  const CalibrationResult stale =
      cached_calibration(devices.facts, CalibrationStore(devices.folder.path(), {"2", "kernels"}));
  CHECK(stale.warnings.size() == 2);  // one for both devices, one for their joint figures
  CHECK_FALSE(stale.calibration.devices[0]);
}

TEST_CASE("a session's record holds what is known of its devices") {
  SessionOptions options = options_for(2, 1000, "equal", {Mode::resident});
  options.calibration.devices = {std::nullopt, Capability{}};
  options.calibration.devices[1]->fp32_flops = 7;
  const Report report = run(fake_devices(2), options);
  CHECK_FALSE(report.devices[0].capability);
  REQUIRE(report.devices[1].capability);
  CHECK(report.devices[1].capability->fp32_flops == 7);
}
