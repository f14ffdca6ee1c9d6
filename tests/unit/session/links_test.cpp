// What `links` measures, on devices whose every rate is known.
#include "lib/session/links.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "lib/exec/fake_backend.hpp"
#include "tests/support/collective_kernels.hpp"
#include "tests/support/sum_suite.hpp"

using namespace mgpu;
using namespace mgpu::test;

namespace {

struct Rig {
  explicit Rig(std::size_t count, FakeScript of_last = {}) : backend(devices(count, std::move(of_last)), collective_kernels()) {
    for (const Device& device : backend.enumerate().devices) {
      record.devices.push_back(device);
      open.push_back(backend.open(device));
    }
    options.repetitions = 3;
    options.pair_bytes = 1 << 20;
    options.counts = {count};
  }
  static std::vector<FakeDevice> devices(std::size_t count, FakeScript of_last) {
    std::vector<FakeDevice> made;
    for (std::size_t i = 0; i < count; ++i) {
      FakeDevice& device = made.emplace_back(sum_device("0:" + std::to_string(i), DeviceType::gpu));
      device.up = 1e10;
      device.down = 5e9;
      device.peer_bytes_per_s = 1e11;
      device.peer_latency = std::chrono::microseconds(2);
    }
    made.back().script = std::move(of_last);
    return made;
  }
  void measure() {
    measure_links(backend, open, options, record, [](const std::string&) {});
  }

  FakeBackend backend;
  std::vector<std::unique_ptr<OpenDevice>> open;
  LinkOptions options;
  LinksRecord record;
};

const LinkCell& cell(const LinkMatrix& matrix, std::optional<std::uint32_t> from, std::optional<std::uint32_t> to) {
  for (const LinkCell& each : matrix.cells)
    if (each.from == from && each.to == to) return each;
  FAIL("no such cell");
  return matrix.cells.front();
}

}  // namespace

TEST_CASE("rates of links and of pairs are those of the devices") {
  Rig rig(3);
  rig.measure();
  REQUIRE(rig.record.matrices.size() == 4);  // one way and both ways, and staged, as every pair has another path
  const LinkMatrix& one = rig.record.matrices.front();
  CHECK(rate_of(one.bytes, cell(one, {}, 1).times) == doctest::Approx(1e10));
  CHECK(rate_of(one.bytes, cell(one, 2, {}).times) == doctest::Approx(5e9));
  const Nanos put = std::chrono::microseconds(2) + from_seconds((1 << 20) / 1e11), signal = std::chrono::microseconds(2);
  for (std::uint32_t from = 0; from < 3; ++from) {
    for (std::uint32_t to = 0; to < 3; ++to) {
      if (from == to) continue;
      for (const Nanos time : cell(one, from, to).times) CHECK(time == put + signal);
      CHECK(cell(one, from, to).path == PeerPath::direct);
      CHECK(cell(rig.record.matrices[2], from, to).path == PeerPath::staged);
    }
  }
  for (const Nanos time : rig.record.everything) CHECK(time == 2 * put + 2 * signal);
  REQUIRE(rig.record.latencies.size() == 4);  // three pairs, and all
  for (const Nanos time : rig.record.latencies.front().alone) CHECK(time == signal);
  const auto json = links_json(rig.record);
  CHECK(json["matrices"][0]["cells"].size() == 6 + 6);
  CHECK(links_text(rig.record, {}).find("all 6 ordered pairs at once") != std::string::npos);
}

TEST_CASE("every collective, of all sizes, is right and timed") {
  for (const std::size_t count : {1, 2, 4}) {
    Rig rig(count);
    rig.options.pairs = false;
    rig.options.collectives.assign(all_collectives().begin(), all_collectives().end());
    rig.options.sizes = {0, 4, 1000, 4096, 1 << 20};
    for (const Element element : all_elements()) {
      for (const Reduction reduction : all_reductions()) {
        rig.options.element = element;
        rig.options.reduction = reduction;
        rig.measure();
      }
    }
    CHECK(rig.record.collectives.size() == 12 * (7 * 5 + 1));
    for (const CollectiveRow& row : rig.record.collectives) {
      CAPTURE(row.collective);
      CAPTURE(row.element);
      CAPTURE(row.bytes);
      CHECK(row.wrong == 0);
      CHECK(row.skipped.empty());
      CHECK(row.alone.size() == 3);
      CHECK(row.back_to_back.size() == 1);
    }
  }
}

TEST_CASE("a row whose data are wrong counts them and has no times") {
  const auto flips = [](FakeCall call, std::uint64_t) {
    return call == FakeCall::exchange ? FakeFault{FakeFault::Kind::corrupt} : FakeFault{};
  };
  Rig rig(2, flips);
  rig.options.pairs = false;
  rig.options.collectives = {Collective::all_gather};
  rig.options.sizes = {4096};
  rig.measure();
  CHECK(rig.record.any_wrong());
  CHECK(rig.record.collectives.front().wrong == 2);  // in what it put, and in the copy of its own part
  CHECK(rig.record.collectives.front().alone.empty());
  CHECK(rig.record.collectives.front().back_to_back.empty());
  CHECK(links_json(rig.record)["collectives"][0]["bus_bytes_per_s"].is_null());
}

TEST_CASE("sizes that do not fit are skipped with the reason") {
  Rig rig(2);
  rig.options.pairs = false;
  rig.options.collectives = {Collective::all_reduce};
  rig.options.sizes = {4096, Bytes{1} << 31};
  rig.measure();
  CHECK(rig.record.collectives[0].skipped.empty());
  CHECK(rig.record.collectives[1].skipped.find("no room") != std::string::npos);
  CHECK(links_text(rig.record, {}).find("skipped: ") != std::string::npos);
}

TEST_CASE("a device that fails or hangs is named") {
  for (const FakeFault::Kind kind : {FakeFault::Kind::error, FakeFault::Kind::hang}) {
    Rig rig(2, fails_from(FakeCall::exchange, 3, kind));
    WaitLimits limits;
    limits.answer = std::chrono::milliseconds(50);
    rig.backend.limit_waits(limits);
    rig.options.collectives = {Collective::all_reduce};
    rig.options.sizes = {4096};
    try {
      rig.measure();
      FAIL("measured");
    } catch (const Error& error) {
      CHECK(error.kind() == (kind == FakeFault::Kind::hang ? ErrorKind::timeout : ErrorKind::device));
      CHECK(std::string(error.what()).find("0:1") != std::string::npos);
    }
  }
}
