// Samples in which devices fail, hang, or are too small: what is done again, by whom, and what it
// costs.
#include <doctest/doctest.h>

#include <new>
#include <stdexcept>

#include "tests/support/sum_sample.hpp"

using namespace mgpu;
using namespace mgpu::test;

namespace {

// For one device, and nobody else.
class WorkForOne final : public SliceSource {
 public:
  Answer next(DeviceIndex device) override {
    return device == DeviceIndex{0} ? Answer(Slice{0, 10}) : Answer(Done{});
  }
  void finished(DeviceIndex, const Slice&, Nanos) override {}
  void rejected(DeviceIndex, const Slice&, Items) override {}
  void lost(DeviceIndex, std::span<const Slice>) override {}
  void joined(DeviceIndex) override {
    throw Error(ErrorKind::unsupported, "nobody else can do this");
  }
};

}  // namespace

TEST_CASE("a device that fails loses its work to the others and the sum is right") {
  for (const StrategyInfo& info : all_strategies()) {
    if (info.name == "single" || info.name == "sequential")
      continue;  // they do not use the bad one
    for (const std::uint64_t launch : {0, 1, 2}) {
      CAPTURE(info.name);
      CAPTURE(launch);
      FakeDevice bad = fake_device("0:1");
      bad.script = fails_from(FakeCall::launch, launch, FakeFault::Kind::error);
      SumSample setup({fake_device("0:0"), bad, fake_device("0:2")}, 100'000);
      const RawSample sample = setup.run(info.name);
      REQUIRE_FALSE(sample.failure);
      CHECK(setup.right());
      if (info.name == "sequential") continue;  // the first device holds everything
      if (sample.faults.empty()) {              // it had no launch of that number
        CHECK(launch > 0);
        continue;
      }
      REQUIRE(sample.faults.size() == 1);
      CHECK(sample.faults[0].device == DeviceIndex{1});
      CHECK(sample.faults[0].items_lost > 0);
    }
  }
}

TEST_CASE("a device that hangs is given up at the deadline and its work is done by the others") {
  FakeDevice bad = fake_device("0:0");
  bad.script = fails_from(FakeCall::launch, 1, FakeFault::Kind::hang);
  SumSample setup({bad, fake_device("0:1")}, 100'000);
  const RawSample sample = setup.run("equal", std::chrono::milliseconds(50));
  REQUIRE_FALSE(sample.failure);
  CHECK(setup.right());
  REQUIRE(sample.faults.size() == 1);
  CHECK(sample.faults[0].hung());
  CHECK(sample.makespan() >= std::chrono::milliseconds(50));
}

TEST_CASE("when the last device fails the sample fails, and says why") {
  FakeDevice bad = fake_device("0:0");
  bad.script = fails_from(FakeCall::launch, 0, FakeFault::Kind::error);
  SumSample setup({bad}, 1000);
  const RawSample sample = setup.run("equal");
  REQUIRE(sample.failure);
  CHECK(std::string(sample.failure->what()).find("0:0") != std::string::npos);
}

TEST_CASE("a slice that does not fit comes back in smaller pieces") {
  SumFaults faults;
  faults.too_many = 700;
  SumSample setup({fake_device("0:0"), fake_device("0:1")}, 100'000, faults);
  const RawSample sample = setup.run("equal");
  REQUIRE_FALSE(sample.failure);
  CHECK(setup.right());
  for (const auto& slice : sample.slices) CHECK(slice.end - slice.begin <= 700);
}

TEST_CASE("a slice that did not fit is not lost with the device that sent it back") {
  SumFaults faults;
  faults.too_many = 700;
  for (const char* strategy : {"equal", "dynamic", "guided"}) {
    FakeDevice bad = fake_device("0:1");
    bad.script = fails_from(FakeCall::launch, 3, FakeFault::Kind::error);
    SumSample setup({fake_device("0:0"), bad}, 10'000, faults);
    const RawSample sample = setup.run(strategy);
    REQUIRE_FALSE(sample.failure);
    CHECK(setup.right());
    CHECK(covers_once(sample.slices, 10'000));
    REQUIRE(sample.faults.size() == 1);
    for (const Slice& slice : sample.faults[0].lost) CHECK(slice.size() <= 700);
  }
}

TEST_CASE("work that fits nobody in any size fails instead of waiting for ever") {
  SumFaults faults;
  faults.too_many = 0;
  SumSample setup({fake_device("0:0"), fake_device("0:1")}, 1000, faults);
  CHECK(setup.run("dynamic").failure);
}

TEST_CASE("when the device that merges fails, the host merges") {
  SumFaults faults;
  faults.at_merge = [] { throw Error(ErrorKind::device, "fails at the merge"); };
  SumSample setup({fake_device("0:0"), fake_device("0:1")}, 1000, faults);
  setup.backend.spend(std::chrono::seconds(1));
  const RawSample sample = setup.run("equal");
  REQUIRE_FALSE(sample.failure);
  CHECK(setup.right());
  REQUIRE(sample.faults.size() == 1);
  CHECK(sample.faults[0].what.find("merge") != std::string::npos);
  CHECK(sample.faults[0].merging);
  CHECK(sample.faults[0].items_lost == 0);
  CHECK(sample.faults[0].at > Nanos{});
  CHECK(sample.faults[0].at <= sample.makespan());
}

TEST_CASE(
    "where only devices can merge, another one does when the fastest fails at it, or before") {
  for (const bool at_merge : {true, false}) {
    SumFaults faults;
    int merges = 0;
    faults.only_devices_merge = true;
    faults.at_merge = [&] {
      if (at_merge && ++merges == 1) throw Error(ErrorKind::device, "fails at the merge");
    };
    FakeDevice first = fake_device("0:0");
    if (!at_merge) first.script = fails_from(FakeCall::launch, 0, FakeFault::Kind::error);
    SumSample setup({first, fake_device("0:1"), fake_device("0:2")}, 9000, faults);
    const RawSample sample = setup.run("equal");
    REQUIRE_FALSE(sample.failure);
    CHECK(setup.right());
    CHECK(sample.merged_on == DeviceIndex{1});
    REQUIRE(sample.faults.size() == 1);
    CHECK(sample.faults[0].device == DeviceIndex{0});
    CHECK(sample.faults[0].merging == at_merge);
    CHECK((sample.faults[0].items_lost == 0) == at_merge);
  }
}

TEST_CASE(
    "what a device's commands came to may be known when the sample is over: a device lost then "
    "takes the result with it") {
  for (const char* strategy : {"equal", "dynamic"}) {
    FakeDevice fails = fake_device("0:1");
    fails.script = fails_from(FakeCall::take, 0, FakeFault::Kind::refused);
    SumSample setup({fake_device("0:0"), fails}, 1000);
    const RawSample sample = setup.run(strategy);
    REQUIRE(sample.faults.size() == 1);
    CHECK(sample.faults[0].device == DeviceIndex{1});
    REQUIRE(sample.failure);
    CHECK(std::string(sample.failure->what()).find("refused, as its script says") !=
          std::string::npos);
  }
}

TEST_CASE(
    "a device that completes one slice after the other is not given up, though each waited for the "
    "time-out") {
  FakeDevice device = fake_device("0:0", 1e6);
  device.launch = Nanos{};
  SumSample setup({device}, 8'000);  // eight slices of 1 ms, two in flight
  const RawSample sample = setup.run("single", std::chrono::microseconds(1'500));
  CHECK_FALSE(sample.failure);
  CHECK(sample.faults.empty());
}

TEST_CASE("a hang is found when the time-out has passed since the device's last sign of life") {
  for (const StrategyInfo& info : all_strategies()) {
    FakeDevice bad = fake_device("0:0", 1e8);
    bad.script = fails_from(FakeCall::launch, 3, FakeFault::Kind::hang);
    SumSample setup({bad, fake_device("0:1", 1e8)}, 1'000'000);
    const Nanos timeout = std::chrono::milliseconds(500);
    const RawSample sample = setup.run(info.name, timeout);
    CAPTURE(info.name);
    REQUIRE_FALSE(sample.failure);
    CHECK(setup.right());
    for (const DeviceFault& fault : sample.faults) {
      CHECK(fault.hung());
      CHECK(fault.detection >= timeout);
      CHECK(fault.detection <= timeout + timeout / 10);
    }
  }
}

TEST_CASE(
    "losing one of two equal devices costs the work that is not on the host, and little more") {
  std::size_t faults = 0;
  for (const StrategyInfo& info : all_strategies()) {
    for (const std::uint64_t launch : {0, 1, 2, 3, 6}) {
      FakeDevice one = fake_device("0:0", 1e6), other = fake_device("0:1", 1e6);
      one.up = other.up = 1e12;
      other.script = fails_from(FakeCall::launch, launch, FakeFault::Kind::error);
      const Items items = 100'000;
      SumSample setup({one, other}, items);
      const RawSample sample = setup.run(info.name);
      CAPTURE(info.name);
      CAPTURE(launch);
      REQUIRE_FALSE(sample.failure);
      CHECK(setup.right());
      if (sample.faults.empty()) continue;
      ++faults;
      const DeviceFault& fault = sample.faults.front();
      Items done = 0;  // by the other, when the fault was found
      for (const RawSlice& slice : sample.slices) {
        if (slice.device == DeviceIndex{0} && slice.finished - sample.begin <= fault.at)
          done += slice.end - slice.begin;
      }
      const double ideal = static_cast<double>(items - done) / 1e6;
      CHECK(seconds(sample.makespan() - fault.at) <= 1.1 * ideal);
      const Recovery recovery = recovery_of(sample, fault);
      CHECK(recovery.items == fault.items_lost);
      REQUIRE(recovery.time);
      CHECK(*recovery.time <= sample.makespan() - fault.at);
    }
  }
  CHECK(faults >= 30);
}

TEST_CASE("when every device is lost whoever is in reserve does what is left, on either clock") {
  for (const FakeTime time : {FakeTime::is_virtual, FakeTime::is_real}) {
    for (const StrategyInfo& info : all_strategies()) {
      FakeDevice one = fake_device("0:0", 1e8), other = fake_device("0:1", 1e8),
                 third = fake_device("0:2", 1e7);
      one.script = other.script = fails_from(FakeCall::launch, 1, FakeFault::Kind::error);
      SumSample setup({one, other, third}, 100'000, {}, time);
      setup.reserve = 2;
      const RawSample sample = setup.run(info.name);
      CAPTURE(info.name);
      REQUIRE_FALSE(sample.failure);
      CHECK(setup.right());
      CHECK_FALSE(sample.faults.empty());
      CHECK(setup.asked_reserve <= 1);
    }
  }
}

TEST_CASE(
    "what is on the host when a device is lost is not computed again, whatever the device did "
    "before and after") {
  // The third device brings its share to the host, takes a part of what the second one loses, and
  // fails in its turn.
  FakeDevice slow = fake_device("0:1", 1e6), fast = fake_device("0:2", 1e9);
  slow.script = fails_from(FakeCall::launch, 2, FakeFault::Kind::error);
  fast.script = fails_from(FakeCall::launch, 3, FakeFault::Kind::error);
  SumSample setup({fake_device("0:0", 1e6), slow, fast}, 24'000);
  const RawSample sample = setup.run("equal");
  REQUIRE_FALSE(sample.failure);
  CHECK(setup.right());
  CHECK(covers_once(sample.slices, 24'000));
  REQUIRE(sample.faults.size() == 2);
  CHECK(sample.faults[0].device == DeviceIndex{1});
  CHECK(sample.faults[0].items_lost ==
        8'000);  // its share: two slices that had finished, and the third
  CHECK(sample.faults[1].device == DeviceIndex{2});
  CHECK(sample.faults[1].items_lost > 0);
  CHECK(sample.faults[1].items_lost <=
        8'000);  // of what was the second one's; its own share is on the host
  std::vector<HostState>
      states;  // of the third one, which waits between its own share and what the second one loses
  for (const auto& span : sample.spans)
    if (span.device == DeviceIndex{2}) states.push_back(span.state);
  CHECK(states ==
        std::vector<HostState>{HostState::in_flight, HostState::sync, HostState::in_flight});
  const auto lost = std::count_if(sample.slices.begin(), sample.slices.end(),
                                  [](const RawSlice& slice) { return slice.lost; });
  CHECK(lost >= 2);
}

TEST_CASE("where the source has nothing for who steps in, the sample fails, and says why") {
  FakeDevice bad = fake_device("0:0");
  bad.script = fails_from(FakeCall::launch, 0, FakeFault::Kind::error);
  SumSample setup({bad, fake_device("0:1")}, 10);
  WorkForOne source;
  SampleRequest request;
  request.workload = &setup.workload;
  request.source = &source;
  request.members = {{setup.open[0].get(), setup.programs[0].get(), Nanos{}}};
  request.reserve = [&]() -> std::optional<Member> {
    return Member{setup.open[1].get(), setup.programs[1].get(), Nanos{}};
  };
  const RawSample sample = Executor(setup.backend, 2).run(request);
  REQUIRE(sample.failure);
  CHECK(std::string(sample.failure->what()) == "nobody else can do this");
}

TEST_CASE("who steps in may merge on the device") {
  SumFaults faults;
  faults.at_merge = [] {};
  FakeDevice bad = fake_device("0:0", 1e8);
  bad.script = fails_from(FakeCall::launch, 1, FakeFault::Kind::error);
  SumSample setup({bad, fake_device("0:1", 1e7)}, 10'000, faults);
  setup.reserve = 1;
  const RawSample sample = setup.run("equal");
  CHECK(sample.merged_on == DeviceIndex{1});
  CHECK(sample.merge_end == sample.end);
  REQUIRE_FALSE(sample.failure);
  CHECK(setup.right());
}

TEST_CASE("a device has time to compile until its first slice has finished, and no longer") {
  for (const std::uint64_t launch : {0, 1}) {
    FakeDevice bad = fake_device("0:0", 1e8);
    bad.script = fails_from(FakeCall::launch, launch, FakeFault::Kind::hang);
    SumSample setup({bad, fake_device("0:1", 1e8)}, 100'000);
    setup.compiling = std::chrono::seconds(5);
    const RawSample sample = setup.run("equal", std::chrono::milliseconds(100));
    REQUIRE_FALSE(sample.failure);
    REQUIRE(sample.faults.size() == 1);
    CHECK(sample.faults[0].hung());
    CHECK((sample.faults[0].detection > std::chrono::seconds(5)) == (launch == 0));
    CHECK(sample.faults[0].detection < std::chrono::milliseconds(5'200));
    CHECK(sample.faults[0].what.find(launch == 0 ? "5.1" : "100 ms") != std::string::npos);
  }
}

TEST_CASE(
    "of a device that brings each slice to the host by itself, only what is under way is lost") {
  SumFaults faults;
  faults.each_slice = true;
  for (const char* strategy : {"equal", "dynamic"}) {
    FakeDevice bad = fake_device("0:1", 1e6);
    bad.script = fails_from(FakeCall::launch, 2, FakeFault::Kind::error);
    SumSample setup({fake_device("0:0", 1e6), bad}, 16'000, faults);
    const RawSample sample = setup.run(strategy);
    REQUIRE_FALSE(sample.failure);
    CHECK(setup.right());
    CHECK(covers_once(sample.slices, 16'000));
    REQUIRE(sample.faults.size() == 1);
    CHECK(sample.faults[0].items_lost <= 4'000);  // two slices
    CHECK(std::none_of(sample.slices.begin(), sample.slices.end(),
                       [](const RawSlice& slice) { return slice.lost; }));
  }
}

TEST_CASE(
    "what is thrown besides errors of a device ends its part, or the sample, and never the "
    "process") {
  FakeDevice bad = fake_device("0:1");
  bad.script = [](FakeCall call, std::uint64_t number) {
    if (call == FakeCall::launch && number == 1) throw std::bad_alloc();
    return FakeFault{};
  };
  SumSample of_device({fake_device("0:0"), bad}, 16'000);
  const RawSample without = of_device.run("equal");
  REQUIRE_FALSE(without.failure);
  CHECK(of_device.right());
  REQUIRE(without.faults.size() == 1);
  CHECK(without.faults[0].kind == ErrorKind::internal);

  const auto throws = [] { throw std::runtime_error("no room on the host"); };
  SumFaults at_begin, at_end, refused_at_end;
  at_begin.at_begin = at_end.at_host_merge = throws;
  refused_at_end.at_host_merge = [] { throw Error(ErrorKind::unsupported, "no room on the host"); };
  for (const SumFaults& faults : {at_begin, at_end, refused_at_end}) {
    const RawSample sample = SumSample({fake_device("0:0")}, 1000, faults).run("equal");
    REQUIRE(sample.failure);
    CHECK(std::string(sample.failure->what()) == "no room on the host");
    CHECK(sample.faults.empty());
  }
}
