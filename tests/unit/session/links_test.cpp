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
  Report report;
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

std::vector<const RunRecord*> in_mode(const Report& report, const std::string& mode) {
  std::vector<const RunRecord*> found;
  for (const RunRecord& run : report.runs)
    if (to_string(run.mode) == mode) found.push_back(&run);
  return found;
}

// Returns the case of links with this label and mode.
const RunRecord& case_of(const Report& report, const std::string& mode, const std::string& label) {
  for (const RunRecord* run : in_mode(report, mode))
    if (run->strategy == label) return *run;
  FAIL("there is no case " << label << " in mode " << mode);
  return report.runs.front();
}

Nanos put_of(Bytes bytes) { return kSignal + from_seconds(static_cast<double>(bytes) / 1e11); }

// Checks all samples, on a clock without noise.
void check_times(const std::vector<Nanos>& samples, Nanos expected) {
  CHECK(samples.size() >= 5);
  for (const Nanos time : samples) CHECK(std::chrono::abs(time - expected) <= Nanos{2});
}

}  // namespace

TEST_CASE("matrices and latencies are what the fake devices take") {
  const Report report = links_of(3, {}).report;
  CHECK(report.complete);
  const Nanos up = from_seconds(kPiece / 1e10), down = from_seconds(kPiece / 2e10);
  CHECK(case_of(report, "one_way", "host to 0:1").link->bytes == kPiece);
  check_times(case_of(report, "one_way", "host to 0:1").samples, up);
  check_times(case_of(report, "one_way", "0:1 to host").samples, down);
  check_times(case_of(report, "both_ways", "host to 0:1").samples, up);
  CHECK(case_of(report, "both_ways", "host to 0:1").link->bytes == 2 * kPiece);
  for (const std::string path : {"", "_staged"}) {
    const Nanos put = put_of(kPiece) + kSignal;
    check_times(case_of(report, "one_way" + path, "0:2 to 0:0").samples, put);
    check_times(case_of(report, "both_ways" + path, "0:0 to 0:2").samples, put);
  }
  check_times(case_of(report, "all_at_once", "up").samples, up);
  check_times(case_of(report, "all_at_once", "down").samples, down);
  CHECK(case_of(report, "all_at_once", "up-and-down").link->bytes == 6 * kPiece);
  const RunRecord& devices = case_of(report, "all_at_once", "devices");
  CHECK(devices.link->bytes == 6 * kPiece / 2);
  CHECK(devices.rate == doctest::Approx(3 * kPiece / seconds(devices.time.median)));
  check_times(devices.samples, 2 * put_of(kPiece / 2) + kSignal);  // all signals are given at once
  REQUIRE(devices.link->devices.size() == 3);
  for (const LinkRecord::Share& share : devices.link->devices) CHECK(share.bytes == kPiece);

  CHECK(report.paths.size() == 6);
  CHECK(in_mode(report, "one_way").size() == 3 * 2 + 6);
  CHECK(in_mode(report, "both_ways").size() == 3 + 3);
  CHECK(in_mode(report, "one_way_staged").size() == 6);
  CHECK(in_mode(report, "latency_isolated").size() == 3 + 1);
  const RunRecord& queued = case_of(report, "latency_back_to_back", "0:0 and 0:1");
  CHECK(queued.link->path == "direct");
  CHECK(queued.link->calls == 100);
  CHECK(queued.devices == std::vector<std::string>{"0:0", "0:1"});
  check_times(queued.samples, kSignal);
  check_times(case_of(report, "latency_isolated", "0:0 and 0:1 and 0:2").samples, kSignal);
  CHECK(case_of(report, "latency_isolated_staged", "0:0 and 0:1").link->path == "staged");
}

TEST_CASE("a path that is asked for is the only one; of one device only the host moves anything") {
  LinksOptions options;
  options.path = PeerPath::staged;
  const Report staged = links_of(2, options).report;
  CHECK(staged.paths.front().path == PeerPath::staged);
  CHECK(std::none_of(staged.runs.begin(), staged.runs.end(), [](const RunRecord& run) {
    return to_string(run.mode).ends_with("_staged");
  }));
  const Report alone = links_of(1, {}).report;
  CHECK(alone.complete);
  CHECK(alone.runs.size() == 3);
}

TEST_CASE("every collective of every size and count of devices, with nothing wrong") {
  LinksOptions options = only({}, {8, 1000, 8 << 10});
  options.ops.assign(all_collectives().begin(), all_collectives().end());
  options.device_counts = {1, 2, 3};
  options.element = Element::u64;
  options.reduction = Reduction::max;
  const Report report = links_of(3, options).report;
  CHECK(report.complete);
  CHECK(report.runs.size() == 2 * 3 * (1 + 7 * 3));  // a barrier has one size
  for (const RunRecord& run : report.runs) {
    CAPTURE(run.suite);
    CAPTURE(run.strategy);
    CHECK(run.status == Status::ok);
    CHECK(run.link->bytes == run.work.items * 8);
    const bool reduces =
        run.suite == "reduce" || run.suite == "all-reduce" || run.suite == "reduce-scatter";
    CHECK(run.params.contains("redop") == reduces);
    CHECK(run.samples.size() >= 5);
    CHECK(run.samples.front() == run.samples.back());  // the first ones were warm-up
    CHECK((run.link->calls > 1) == (to_string(run.mode) == "back_to_back"));
    if (run.suite == "all-reduce" && run.devices.size() == 3)
      CHECK(run.rate == doctest::Approx(static_cast<double>(run.link->bytes) * 4 / 3 /
                                        seconds(run.time.median)));
  }
}

TEST_CASE("sizes are limited by memory and by pieces, in one line, and all others are measured") {
  const Report report =
      links_of(2, only({Collective::all_reduce}, {kPiece / 2, 32 * kPiece})).report;
  REQUIRE(in_mode(report, "isolated").size() == 1);
  CHECK(report.runs[0].link->bytes == kPiece / 2);
  REQUIRE(report.warnings.size() == 1);
  CHECK(report.warnings[0].find("0:0") != std::string::npos);

  std::vector<FakeDevice> devices = fake_devices(2);
  for (FakeDevice& device : devices) device.most_shared = kPiece;
  LinksOptions options = only({Collective::all_reduce, Collective::barrier},
                              {4096, kPiece / 2, kPiece, 3 * kPiece / 2});
  const Report pieces = links_of(devices, options).report;
  CHECK(pieces.complete);
  const auto measured = in_mode(pieces, "isolated");
  REQUIRE(measured.size() == 3);
  CHECK(measured[0]->link->bytes == 4096);
  CHECK(measured[1]->link->bytes == kPiece / 2);
  CHECK(measured[2]->suite == "barrier");
  REQUIRE(pieces.warnings.size() == 1);
  for (const char* named : {"1.00 MiB, 1.50 MiB", "--peer staged"})
    CHECK(pieces.warnings[0].find(named) != std::string::npos);
  options.sizes = {3 * kPiece / 2};
  const Report none = links_of(devices, options).report;
  CHECK(none.complete);
  CHECK(in_mode(none, "isolated").size() == 1);
}

TEST_CASE("what arrives wrong is counted, and has no rate") {
  const auto flips = [](FakeCall call, std::uint64_t) {
    return call == FakeCall::exchange ? FakeFault{FakeFault::Kind::corrupt} : FakeFault{};
  };
  LinksOptions options = only({Collective::all_reduce}, {4096});
  options.matrices = true;
  options.element = Element::u32;  // a sum of floats may round a small error away
  const Report report = links_of(2, options, flips).report;
  CHECK(report.complete);
  std::size_t wrong = 0;
  for (const RunRecord& run : report.runs) {
    const LinkRecord& link = *run.link;
    const std::string mode = to_string(run.mode);
    const bool both_ways = mode.starts_with("both_ways"), transfer = !link.from.empty();
    const bool affected =
        transfer ? !link.path.empty() && (link.from == "0:1" || (both_ways && link.to == "0:1"))
                 : run.strategy == "devices" || run.suite == "all-reduce";
    CHECK((link.wrong > 0) == affected);
    CHECK((run.status == Status::failed) == affected);
    CHECK((run.verify.status == VerifyStatus::failed) == affected);
    CHECK(run.samples.empty() == affected);
    CHECK(link.devices.empty() == (affected || to_string(run.mode).find("all_at_once") != 0));
    wrong += affected && transfer ? 1 : 0;
  }
  CHECK(wrong == 4);  // one way and both ways, on two paths
}

TEST_CASE("a device that hangs, cannot be opened or lacks a type is named; the rest is kept") {
  const MeasuredLinks hung =
      links_of(2, {}, fails_from(FakeCall::exchange, 3, FakeFault::Kind::hang));
  CHECK_FALSE(hung.report.complete);
  CHECK(hung.failure.find("device 0:1") != std::string::npos);
  CHECK(hung.report.runs.size() >= 6);  // transfers with the host
  CHECK(links_of(2, {}, fails_from(FakeCall::open, 0, FakeFault::Kind::refused))
            .failure.find("device 0:1") == 0);
  LinksOptions options = only({Collective::all_reduce}, {});
  options.element = Element::f64;
  CHECK(links_of(2, options).failure.find("device 0:0 has no f64") == 0);
}

TEST_CASE("in real time, with threads") {
  const Report report =
      links_of(2, only({Collective::all_reduce}, {4096}), {}, FakeTime::is_real).report;
  CHECK(report.complete);
  REQUIRE(report.runs.size() == 2);
  for (const RunRecord& run : report.runs) CHECK(run.status == Status::ok);
}
