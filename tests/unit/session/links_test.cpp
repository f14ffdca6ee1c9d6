// `links` on the fake backend: rates and latencies to the nanosecond, wrong results, failures.
#include "lib/session/links.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "lib/base/error.hpp"
#include "tests/support/collective_kernels.hpp"
#include "tests/support/sum_session.hpp"

using namespace mgpu;
using namespace mgpu::test;

namespace {

// Time of a fake device's signal, and per put.
constexpr Nanos kSignal = std::chrono::microseconds(2);
constexpr Bytes kPiece = Bytes{1} << 20;  // size of pieces; the devices' memory is four of them

struct MeasuredLinks {
  LinksReport report;
  std::string failure;
};

MeasuredLinks links_of(const std::vector<FakeDevice>& devices, LinksOptions options,
                       FakeTime time = FakeTime::is_virtual) {
  FakeBackend backend(devices, collective_kernels(), time);
  backend.limit_waits({.answer = std::chrono::milliseconds(200)});
  options.devices = backend.enumerate().devices;
  options.quick = true;
  MeasuredLinks result;
  try {
    measure_links(backend, options, result.report, [](const std::string&) {});
  } catch (const Error& error) {
    result.failure = error.what();
  }
  return result;
}

// Measures the links of devices, the last of which has the script.
MeasuredLinks links_of(std::size_t count, LinksOptions options, FakeScript script = {},
                       FakeTime time = FakeTime::is_virtual) {
  std::vector<FakeDevice> devices = fake_devices(count);
  for (FakeDevice& device : devices) {
    device.facts.global_memory = 4 * kPiece;
    device.down = 2e10;
  }
  devices.back().script = std::move(script);
  return links_of(devices, std::move(options), time);
}

LinksOptions only(std::vector<Collective> ops, std::vector<Bytes> sizes) {
  LinksOptions options;
  options.matrices = false;
  options.ops = std::move(ops);
  options.sizes = std::move(sizes);
  return options;
}

const LinkMoves& transfer(const LinksReport& report, LinkTraffic traffic, const std::string& from,
                          const std::string& to, bool in_use = true) {
  const auto found =
      std::find_if(report.transfers.begin(), report.transfers.end(), [&](const LinkTransfer& t) {
        return t.traffic == traffic && t.from == from && t.to == to && t.in_use == in_use;
      });
  REQUIRE(found != report.transfers.end());
  CHECK(found->moves.wrong == 0);
  return found->moves;
}

const LinkMoves& at_once(const LinksReport& report, LinkCrowd crowd) {
  const auto found =
      std::find_if(report.at_once.begin(), report.at_once.end(),
                   [&](const LinkAtOnce& row) { return row.crowd == crowd && row.in_use; });
  REQUIRE(found != report.at_once.end());
  return found->moves;
}

Nanos put_of(Bytes bytes) { return kSignal + from_seconds(static_cast<double>(bytes) / 1e11); }

// Checks all samples, on a clock without noise.
void check_times(const std::vector<Nanos>& samples, Nanos expected) {
  CHECK(samples.size() >= 5);
  for (const Nanos time : samples) CHECK(std::chrono::abs(time - expected) <= Nanos{2});
}

}  // namespace

TEST_CASE("matrices and latencies are what the fake devices take") {
  using enum LinkTraffic;
  const LinksReport report = links_of(3, {}).report;
  CHECK(report.complete);
  const Nanos up = from_seconds(kPiece / 1e10), down = from_seconds(kPiece / 2e10);
  CHECK(transfer(report, one_way, "host", "0:1").bytes == kPiece);
  check_times(transfer(report, one_way, "host", "0:1").samples, up);
  check_times(transfer(report, one_way, "0:1", "host").samples, down);
  check_times(transfer(report, both_ways, "host", "0:1").samples, up);
  CHECK(transfer(report, both_ways, "host", "0:1").bytes == 2 * kPiece);
  for (const bool in_use : {true, false}) {
    const Nanos put = put_of(kPiece) + kSignal;
    check_times(transfer(report, one_way, "0:2", "0:0", in_use).samples, put);
    check_times(transfer(report, both_ways, "0:0", "0:2", in_use).samples, put);
  }
  check_times(at_once(report, LinkCrowd::up).samples, up);
  check_times(at_once(report, LinkCrowd::down).samples, down);
  CHECK(at_once(report, LinkCrowd::up_and_down).bytes == 6 * kPiece);
  CHECK(at_once(report, LinkCrowd::devices).bytes == 6 * kPiece / 2);
  check_times(at_once(report, LinkCrowd::devices).samples,
              2 * put_of(kPiece / 2) + kSignal);  // signals to all are given at once

  CHECK(report.pairs.size() == 6);
  CHECK(report.transfers.size() == 3 * 3 + 2 * (6 + 3));
  REQUIRE(report.latencies.size() == 2 * (3 + 1));
  CHECK(report.latencies[0].devices == std::vector<std::string>{"0:0", "0:1"});
  CHECK(report.latencies[0].path == "direct");
  check_times(report.latencies[0].alone, kSignal);
  CHECK(report.latencies[0].queued_calls == 20);
  check_times(report.latencies[0].queued, 20 * kSignal);
  CHECK(report.latencies[3].devices.size() == 3);
  check_times(report.latencies[3].alone, kSignal);
  CHECK(report.latencies[4].path == "staged");
  CHECK_FALSE(report.latencies[4].in_use);
}

TEST_CASE("a path that is asked for is the only one; of one device only the host moves anything") {
  LinksOptions options;
  options.path = PeerPath::staged;
  const LinksReport staged = links_of(2, options).report;
  CHECK(staged.pairs.front().path == PeerPath::staged);
  CHECK(std::all_of(staged.transfers.begin(), staged.transfers.end(),
                    [](const LinkTransfer& t) { return t.in_use; }));
  const LinksReport alone = links_of(1, {}).report;
  CHECK(alone.complete);
  CHECK(alone.transfers.size() == 3);
  CHECK(alone.at_once.empty());
  CHECK(alone.latencies.empty());
}

TEST_CASE("every collective of every size and count of devices, with nothing wrong") {
  LinksOptions options = only({}, {8, 1000, 8 << 10});
  options.ops.assign(all_collectives().begin(), all_collectives().end());
  options.device_counts = {1, 2, 3};
  options.element = Element::u64;
  options.reduction = Reduction::max;
  const LinksReport report = links_of(3, options).report;
  CHECK(report.complete);
  CHECK(report.transfers.empty());
  CHECK(report.collectives.size() == 3 * (1 + 7 * 3));  // a barrier has one size
  for (const CollectiveRecord& row : report.collectives) {
    CAPTURE(row.op);
    CAPTURE(row.size);
    CHECK(row.wrong == 0);
    CHECK(row.size == row.count * 8);
    const bool reduces = row.op == "reduce" || row.op == "all-reduce" || row.op == "reduce-scatter";
    CHECK(row.reduction == (reduces ? "max" : ""));
    CHECK(row.alone.size() >= 5);
    CHECK(row.alone.front() == row.alone.back());  // the first ones were warm-up
    CHECK(row.queued.front() == row.queued.back());
    if (row.devices.size() == 1 || row.size == 0) continue;
    const double time = static_cast<double>(row.queued.front().count()) / 1e9 /
                        static_cast<double>(row.queued_calls);
    CHECK(*algorithm_bandwidth(row) == doctest::Approx(static_cast<double>(row.size) / time));
    CHECK(*bus_bandwidth(row) == doctest::Approx(*algorithm_bandwidth(row) * row.bus_factor));
  }
}

TEST_CASE("sizes are limited by memory and by pieces, in one line, and all others are measured") {
  const LinksReport report =
      links_of(2, only({Collective::all_reduce}, {kPiece / 2, 32 * kPiece})).report;
  REQUIRE(report.collectives.size() == 1);
  CHECK(report.collectives[0].size == kPiece / 2);
  REQUIRE(report.warnings.size() == 1);
  CHECK(report.warnings[0].find("0:0") != std::string::npos);

  std::vector<FakeDevice> devices = fake_devices(2);
  for (FakeDevice& device : devices) device.most_shared = Bytes{2} << 20;
  LinksOptions options =
      only({Collective::all_reduce, Collective::barrier}, {4096, 1 << 20, 2 << 20, 3 << 20});
  const LinksReport pieces = links_of(devices, options).report;
  CHECK(pieces.complete);
  REQUIRE(pieces.collectives.size() == 3);
  CHECK(pieces.collectives[0].size == 4096);
  CHECK(pieces.collectives[1].size == 1 << 20);
  CHECK(pieces.collectives[2].op == "barrier");
  REQUIRE(pieces.warnings.size() == 1);
  for (const char* named : {"2.00 MiB, 3.00 MiB", "--peer staged"})
    CHECK(pieces.warnings[0].find(named) != std::string::npos);
  options.sizes = {3 << 20};
  const LinksReport none = links_of(devices, options).report;
  CHECK(none.complete);
  CHECK(none.collectives.size() == 1);
}

TEST_CASE("what arrives wrong is counted, and has no rate") {
  const auto flips = [](FakeCall call, std::uint64_t) {
    return call == FakeCall::exchange ? FakeFault{FakeFault::Kind::corrupt} : FakeFault{};
  };
  LinksOptions options = only({Collective::all_reduce}, {4096});
  options.matrices = true;
  options.element = Element::u32;  // a sum of floats may round a small error away
  const LinksReport report = links_of(2, options, flips).report;
  CHECK(report.complete);
  CHECK(wrong_in(report) > 0);
  std::size_t wrong = 0;
  for (const LinkTransfer& row : report.transfers) {
    const bool from_bad =
        row.from == "0:1" || (row.traffic == LinkTraffic::both_ways && row.to == "0:1");
    const bool affected = from_bad && row.path.has_value();
    CHECK((row.moves.wrong > 0) == affected);
    CHECK(rate_of(row.moves).has_value() != affected);
    wrong += affected ? 1 : 0;
  }
  CHECK(wrong == 4);  // one way and both ways, on two paths
  REQUIRE(report.collectives.size() == 1);
  CHECK(report.collectives[0].wrong > 0);
  CHECK_FALSE(bus_bandwidth(report.collectives[0]));
}

TEST_CASE("a device that hangs, cannot be opened or lacks a type is named; the rest is kept") {
  const MeasuredLinks hung =
      links_of(2, {}, fails_from(FakeCall::exchange, 3, FakeFault::Kind::hang));
  CHECK_FALSE(hung.report.complete);
  CHECK(hung.failure.find("device 0:1") != std::string::npos);
  CHECK(hung.report.transfers.size() >= 6);  // transfers with the host
  CHECK(links_of(2, {}, fails_from(FakeCall::open, 0, FakeFault::Kind::refused))
            .failure.find("device 0:1") == 0);
  LinksOptions options = only({Collective::all_reduce}, {});
  options.element = Element::f64;
  CHECK(links_of(2, options).failure.find("device 0:0 has no f64") == 0);
}

TEST_CASE("in real time, with threads") {
  const LinksReport report =
      links_of(2, only({Collective::all_reduce}, {4096}), {}, FakeTime::is_real).report;
  CHECK(report.complete);
  CHECK(wrong_in(report) == 0);
  CHECK(report.collectives.size() == 1);
}
