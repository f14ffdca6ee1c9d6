// Whole checks on the fake machine's clock: healthy ones pass, seeded faults are named.
#include "lib/session/check.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "tests/support/collective_kernels.hpp"
#include "tests/support/fake_calibration.hpp"
#include "tests/support/pattern_kernels.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/sum_session.hpp"
#include "tests/support/thorough.hpp"

using namespace mgpu;
using namespace mgpu::test;

namespace {

constexpr Nanos kRun = std::chrono::milliseconds(20);  // of the work
constexpr double kPeerRate = 1e11;

FakeKernels check_kernels() {
  FakeKernels all = calibration_kernels();
  FakeKernels sum = sum_kernels();
  sum.at("sum_slice").time = [](std::span<const FakeArg>) { return kRun; };
  for (const FakeKernels& more : {sum, collective_kernels(), pattern_kernels()})
    all.insert(more.begin(), more.end());
  return all;
}

// A machine whose commands take 2 % more or less, by chance.
struct NoisyMachine {
  explicit NoisyMachine(std::size_t count, std::uint64_t seed) {
    for (std::size_t i = 0; i < count; ++i) {
      FakeDevice device = calibration_device(fmt::format("0:{}", i));
      device.facts.name = "alike";
      device.facts.uuid = fmt::format("uuid-{}", i);
      device.facts.global_memory = Bytes{8} << 20;
      device.facts.max_allocation = Bytes{1} << 20;
      device.up = device.down = 2e8;
      device.peer_bytes_per_s = kPeerRate;
      const auto draws = std::make_shared<std::mt19937_64>(1000 * seed + i);
      device.script = [draws](FakeCall call, std::uint64_t) {
        if (call != FakeCall::launch && call != FakeCall::upload && call != FakeCall::download &&
            call != FakeCall::exchange)
          return FakeFault{};
        std::normal_distribution<double> normal;
        return FakeFault{FakeFault::Kind::slow, std::exp(0.02 * normal(*draws))};
      };
      devices.push_back(std::move(device));
    }
    link.peers = PeerLinks(count, {PeerPath::direct, kPeerRate, std::chrono::microseconds(2)});
  }

  // Makes the device's calls fail by another script, and be noisy as before otherwise.
  void seed(std::size_t i, FakeScript faults) {
    devices[i].script = [noise = devices[i].script, faults](FakeCall call, std::uint64_t number) {
      const FakeFault fault = faults(call, number);
      return fault.kind == FakeFault::Kind::none ? noise(call, number) : fault;
    };
  }

  CheckDocument check(std::vector<CheckDocument> known = {}) {
    FakeBackend backend(devices, check_kernels(), FakeTime::is_virtual, link);
    backend.limit_waits({.answer = std::chrono::seconds(2)});
    CheckOptions options;
    options.devices = backend.enumerate().devices;
    options.works = {{"sum", problem_of(sum_suite(), 1 << 12), VerifyLevel::full}};
    options.all_reduces = {4096};
    options.time = std::chrono::seconds(60);
    options.known = std::move(known);
    options.host = "node1";
    options.started = "2026-11-28T10:00:00Z";
    return run_check(backend, options, [](const std::string&) {});
  }

  std::vector<FakeDevice> devices;
  FakeLink link;
};

std::string lines_of_check(const CheckDocument& document) {
  std::string text;
  for (const CheckFinding& finding : document.findings) text += finding.text + "\n";
  return text;
}

// Checks that all findings begin with one of these names, and that the worst has this verdict.
void check_named(const CheckDocument& document, CheckVerdict verdict,
                 const std::vector<std::string>& names) {
  INFO(lines_of_check(document));
  CHECK(document.verdict == verdict);
  REQUIRE_FALSE(document.findings.empty());
  for (const CheckFinding& finding : document.findings)
    CHECK(std::any_of(names.begin(), names.end(),
                      [&](const std::string& name) { return finding.text.starts_with(name); }));
}

enum class Seeded { slow, link, bit, missing, hang, count };

void check_fault(Seeded fault, std::size_t count, std::uint64_t seed) {
  CAPTURE(seed);
  CAPTURE(static_cast<int>(fault));
  NoisyMachine machine(count, seed);
  const std::size_t which = seed % count, other = (which + 1) % count;
  const std::string name = fmt::format("gpu {} (0:{})", which, which);
  switch (fault) {
    case Seeded::slow:
      machine.devices[which].ops_per_s *= 0.95;
      return check_named(machine.check(), CheckVerdict::slow, {name + " is "});
    case Seeded::link:
      machine.link.peers.of(which, other).bytes_per_s *= 0.8;
      return check_named(machine.check(), CheckVerdict::slow,
                         {fmt::format("link {}-{} carries ", which, other),
                          fmt::format("link {}-{} carries ", other, which)});  // both ways
    case Seeded::bit: {
      // A result of the work arrives wrong once.
      machine.seed(which, [seed](FakeCall call, std::uint64_t number) {
        return FakeFault{call == FakeCall::download && number == 1 + seed % 6
                             ? FakeFault::Kind::corrupt
                             : FakeFault::Kind::none};
      });
      return check_named(machine.check(), CheckVerdict::wrong,
                         {name + " computed a wrong sum: 1 of "});
    }
    case Seeded::missing: {
      const std::vector<CheckDocument> known{baseline_with(std::nullopt, machine.check())};
      NoisyMachine later(count, seed + 1000);
      later.devices.erase(later.devices.begin() + static_cast<std::ptrdiff_t>(which));
      later.link.peers = PeerLinks(count - 1, later.link.peers.of(0, 1));
      return check_named(later.check(known), CheckVerdict::missing, {name + " is missing"});
    }
    default:
      machine.seed(which, fails_from(FakeCall::launch, 20 * (seed % 50), FakeFault::Kind::hang));
      return check_named(machine.check(), CheckVerdict::hung, {name + " hung"});
  }
}

}  // namespace

TEST_CASE("a healthy machine passes, with every part measured") {
  NoisyMachine machine(4, 1);
  const CheckDocument document = machine.check();
  INFO(lines_of_check(document));
  CHECK(document.verdict == CheckVerdict::ok);
  CHECK(document.warnings.empty());
  REQUIRE(document.devices.size() == 4);
  for (const CheckedDevice& device : document.devices) {
    CHECK(device.rates.size() == std::size(kCheckRates));
    for (const CheckValues& rate : device.rates) CHECK(rate.values.size() >= 4);
    REQUIRE(device.works.size() == 1);
    REQUIRE(device.works[0].digests.size() == 1);
    CHECK(device.works[0].digests[0].runs >= 40);
    CHECK(device.works[0].digests[0].reference == VerifyStatus::passed);
    REQUIRE(device.memory);
    CHECK(device.memory->bytes > Bytes{4} << 20);
    CHECK(device.memory->passes == 2);
  }
  std::size_t one_way = 0, all = 0;
  for (const CheckedLink& link : document.links) {
    one_way += link.rate.quantity == "one way (direct path)" ? 1 : 0;
    all += link.from.empty() ? 1 : 0;
  }
  CHECK(one_way == 4 * 3);
  CHECK(all == 3 + 1 + 1);  // with the host, among all, an all-reduce
  CHECK(document.took < std::chrono::seconds(61));
}

TEST_CASE("each kind of seeded fault is named") {
  for (int fault = 0; fault < static_cast<int>(Seeded::count); ++fault)
    check_fault(static_cast<Seeded>(fault), 3, 7);
}

TEST_CASE("200 seeded faults are named on the fake machine" * testing::if_thorough()) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed)
    check_fault(static_cast<Seeded>(seed % static_cast<int>(Seeded::count)), 3 + seed % 6, seed);
}

TEST_CASE("healthy machines with 2 % noise pass on the fake machine" * testing::if_thorough()) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    const CheckDocument document = NoisyMachine(4, seed).check();
    INFO(lines_of_check(document));
    CHECK(document.verdict == CheckVerdict::ok);
  }
}

TEST_CASE("a device that cannot be opened has failed, and the others are checked") {
  NoisyMachine machine(3, 1);
  machine.seed(1, [](FakeCall call, std::uint64_t) {
    return FakeFault{call == FakeCall::open ? FakeFault::Kind::refused : FakeFault::Kind::none};
  });
  const CheckDocument document = machine.check();
  check_named(document, CheckVerdict::failed, {"gpu 1 (0:1) failed: "});
  CHECK(document.devices[2].rates.size() == std::size(kCheckRates));
}

TEST_CASE("parts end in their order, and the last before the time is over") {
  const Nanos begin = std::chrono::seconds(5), time = std::chrono::seconds(60);
  Nanos before = begin;
  for (const CheckPart part : {CheckPart::works, CheckPart::rates, CheckPart::memory,
                               CheckPart::links, CheckPart::again}) {
    CHECK(end_of_part(part, begin, time) > before);
    before = end_of_part(part, begin, time);
  }
  CHECK(before < begin + time);
}
