// Samples in which devices fail, hang or are too small: which work is repeated, on which device,
// and at what cost.
#include <doctest/doctest.h>

#include <new>
#include <stdexcept>

#include "tests/support/sum_sample.hpp"
#include "tests/support/thorough.hpp"

using namespace mgpu;
using namespace mgpu::test;
using std::chrono::milliseconds;

namespace {

// A source with work for one device only.
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

// A source for device 1, which has no room for its second slice; device 0 waits for the rejected
// work.
class SecondIsRejected final : public SliceSource {
 public:
  Answer next(DeviceIndex device) override {
    if (device == DeviceIndex{1} && given_ < slices_.size()) return slices_[given_++];
    if (device == DeviceIndex{0} && rejected_.size() > 0) {
      const Slice piece{rejected_.begin, std::min(rejected_.begin + 500, rejected_.end)};
      rejected_.begin = piece.end;
      return piece;
    }
    return left_ == 0 ? Answer(Done{}) : Answer(Wait{});
  }
  void finished(DeviceIndex, const Slice& slice, Nanos) override { left_ -= slice.size(); }
  void rejected(DeviceIndex, const Slice& slice, Items) override { rejected_ = slice; }
  void lost(DeviceIndex, std::span<const Slice>) override {}
  void joined(DeviceIndex) override {}

 private:
  std::vector<Slice> slices_{{0, 600}, {600, 2'000}};
  std::size_t given_ = 0;
  Slice rejected_;
  Items left_ = 2'000;
};

FakeDevice failing(const std::string& id, double ops_per_s, std::uint64_t launch,
                   FakeFault::Kind kind = FakeFault::Kind::error) {
  FakeDevice device = fake_device(id, ops_per_s);
  device.script = fails_from(FakeCall::launch, launch, kind);
  return device;
}

}  // namespace

TEST_SUITE_BEGIN("one thread");

TEST_CASE("a device that fails loses its work to the others and the sum is right") {
  for (const StrategyInfo& info : all_strategies()) {
    if (info.name == "single" || info.name == "sequential")
      continue;  // they do not use the bad device
    for (const std::uint64_t launch : testing::first_when_quick<std::uint64_t>(2, {0, 2, 1})) {
      CAPTURE(info.name);
      CAPTURE(launch);
      SumSample setup({fake_device("0:0"), failing("0:1", 1e9, launch), fake_device("0:2")},
                      20'000);
      const RawSample sample = setup.run(info.name);
      setup.check_right(sample);
      CHECK(sample.faults.size() <= 1);
      // Otherwise it may have no launch of that number.
      CHECK((launch > 0 || !sample.faults.empty()));
      for (const DeviceFault& fault : sample.faults) {
        CHECK(fault.device == DeviceIndex{1});
        CHECK(fault.items_lost > 0);
      }
    }
  }
}

TEST_CASE("when the last device fails the sample fails, and says why") {
  SumSample setup({failing("0:0", 1e9, 0)}, 1000);
  const RawSample sample = setup.run("equal");
  REQUIRE(sample.failure);
  CHECK(std::string(sample.failure->what()).find("0:0") != std::string::npos);
}

TEST_CASE("a slice that does not fit comes back in smaller pieces, also from a device that fails") {
  SumFaults faults;
  faults.too_many = 700;
  for (const char* strategy : {"equal", "dynamic", "guided"}) {
    SumSample setup({fake_device("0:0"), failing("0:1", 1e9, 3)}, 10'000, faults);
    const RawSample sample = setup.run(strategy);
    setup.check_right(sample);
    for (const RawSlice& slice : sample.slices) CHECK(slice.end - slice.begin <= 700);
    REQUIRE(sample.faults.size() == 1);
    for (const Slice& slice : sample.faults[0].lost) CHECK(slice.size() <= 700);
  }
  faults.too_many = 0;  // no device can take any size: fails instead of waiting for ever
  CHECK(SumSample(2, 1000, faults).run("dynamic").failure);
}

TEST_CASE("what one device rejects is offered at once to another that waits") {
  SumFaults faults;
  faults.too_many = 700;
  SumSample setup({fake_device("0:0", 1e6), fake_device("0:1", 1e6)}, 2'000, faults);
  SecondIsRejected source;
  SampleRequest request;
  request.workload = &setup.workload;
  request.source = &source;
  for (std::size_t i : {0, 1})
    request.participants.push_back({setup.open[i].get(), setup.programs[i].get()});
  const RawSample sample = Executor(setup.backend, 2).run(request);
  setup.check_right(sample);
  REQUIRE(sample.slices.size() == 4);
  const auto of = [&](Items begin) {
    return *std::find_if(sample.slices.begin(), sample.slices.end(),
                         [&](const RawSlice& slice) { return slice.begin == begin; });
  };
  CHECK(of(600).device == DeviceIndex{0});
  CHECK(of(600).enqueued < of(0).finished);  // not only when device 1 has finished its first
}

TEST_CASE("when the device that merges fails, the host merges") {
  SumFaults faults;
  faults.at_merge = [] { throw Error(ErrorKind::device, "fails at the merge"); };
  SumSample setup(2, 1000, faults);
  setup.backend.spend(std::chrono::seconds(1));
  const RawSample sample = setup.run("equal");
  setup.check_right(sample);
  REQUIRE(sample.faults.size() == 1);
  CHECK(sample.faults[0].what.find("merge") != std::string::npos);
  CHECK(sample.faults[0].merging);
  CHECK(sample.faults[0].items_lost == 0);
  CHECK(sample.faults[0].at > Nanos{});
  CHECK(sample.faults[0].at <= sample.makespan());
}

TEST_CASE("if only devices can merge, another one does when the fastest fails at it, or before") {
  for (const bool at_merge : {true, false}) {
    SumFaults faults;
    int merges = 0;
    faults.only_devices_merge = true;
    faults.at_merge = [&] {
      if (at_merge && ++merges == 1) throw Error(ErrorKind::device, "fails at the merge");
    };
    SumSample setup({at_merge ? fake_device("0:0") : failing("0:0", 1e9, 0), fake_device("0:1"),
                     fake_device("0:2")},
                    9000, faults);
    const RawSample sample = setup.run("equal");
    setup.check_right(sample);
    CHECK(sample.merged_on == DeviceIndex{1});
    REQUIRE(sample.faults.size() == 1);
    CHECK(sample.faults[0].device == DeviceIndex{0});
    CHECK(sample.faults[0].merging == at_merge);
    CHECK((sample.faults[0].items_lost == 0) == at_merge);
  }
}

TEST_CASE("a device that is lost when its time stamps are read takes the result with it") {
  for (const char* strategy : {"equal", "dynamic"}) {
    FakeDevice fails = fake_device("0:1");
    fails.script = fails_from(FakeCall::take, 0, FakeFault::Kind::refused);
    SumSample setup({fake_device("0:0"), fails}, 1000);
    const RawSample sample = setup.run(strategy);
    REQUIRE(sample.faults.size() == 1);
    CHECK(sample.faults[0].device == DeviceIndex{1});
    REQUIRE(sample.failure);
    CHECK(std::string(sample.failure->what()).find("refused") != std::string::npos);
  }
}

TEST_CASE("a device that completes slice after slice is not given up, though each waits as long") {
  FakeDevice device = fake_device("0:0", 1e6);
  device.launch = Nanos{};
  SumSample setup({device}, 8'000);  // eight slices of 1 ms, two in flight
  const RawSample sample = setup.run("single", std::chrono::microseconds(1'500));
  CHECK_FALSE(sample.failure);
  CHECK(sample.faults.empty());
}

TEST_CASE("a hang is found when the time-out has passed since the device's last sign of life") {
  const Nanos timeout = milliseconds(500);
  std::size_t hung = 0;
  for (const StrategyInfo& info : all_strategies()) {
    CAPTURE(info.name);
    SumSample setup({failing("0:0", 1e6, 3, FakeFault::Kind::hang), fake_device("0:1", 1e6)},
                    10'000);
    const RawSample sample = setup.run(info.name, timeout);
    setup.check_right(sample);
    for (const DeviceFault& fault : sample.faults) {
      ++hung;
      CHECK(fault.hung());
      CHECK(fault.detection >= timeout);
      CHECK(fault.detection <= timeout + timeout / 10);
      CHECK(sample.makespan() >= timeout);
    }
  }
  CHECK(hung >= 5);
}

TEST_CASE("losing one of two equal devices costs the work that is not on the host, little more") {
  std::size_t faults = 0;
  const auto launches = testing::first_when_quick<std::uint64_t>(2, {1, 3, 0, 2, 6});
  for (const StrategyInfo& info : all_strategies()) {
    for (const std::uint64_t launch : launches) {
      FakeDevice one = fake_device("0:0", 1e6), other = failing("0:1", 1e6, launch);
      one.up = other.up = 1e12;
      const Items items = 100'000;
      SumSample setup({one, other}, items);
      const RawSample sample = setup.run(info.name);
      CAPTURE(info.name);
      CAPTURE(launch);
      setup.check_right(sample);
      if (sample.faults.empty()) continue;
      ++faults;
      const DeviceFault& fault = sample.faults.front();
      Items done = 0;  // items that the other device had finished when the fault was found
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
  CHECK(faults >= 6 * launches.size());
}

TEST_CASE("what is on the host when a device is lost is not computed again") {
  // The third device downloads its share, takes a part of what the second one lost, and then fails
  // too.
  SumSample setup({fake_device("0:0", 1e6), failing("0:1", 1e6, 2), failing("0:2", 1e9, 3)},
                  24'000);
  const RawSample sample = setup.run("equal");
  setup.check_right(sample);
  REQUIRE(sample.faults.size() == 2);
  CHECK(sample.faults[0].device == DeviceIndex{1});
  CHECK(sample.faults[0].items_lost ==
        8'000);  // its share: two slices that had finished, and the third
  CHECK(sample.faults[1].device == DeviceIndex{2});
  CHECK(sample.faults[1].items_lost > 0);
  CHECK(sample.faults[1].items_lost <=
        8'000);  // of the second device's items; its own share is on the host
  // States of the third device, which waits between its own share and the lost items of the second.
  std::vector<HostState> states;
  for (const auto& span : sample.spans)
    if (span.device == DeviceIndex{2}) states.push_back(span.state);
  CHECK(states ==
        std::vector<HostState>{HostState::in_flight, HostState::sync, HostState::in_flight});
  const auto lost = std::count_if(sample.slices.begin(), sample.slices.end(),
                                  [](const RawSlice& slice) { return slice.lost; });
  CHECK(lost >= 2);
}

TEST_CASE("a sample whose source has nothing for who steps in fails, and says why") {
  SumSample setup({failing("0:0", 1e9, 0), fake_device("0:1")}, 10);
  WorkForOne source;
  SampleRequest request;
  request.workload = &setup.workload;
  request.source = &source;
  request.participants = {{setup.open[0].get(), setup.programs[0].get()}};
  request.reserve = [&]() -> std::optional<Participant> {
    return Participant{setup.open[1].get(), setup.programs[1].get()};
  };
  const RawSample sample = Executor(setup.backend, 2).run(request);
  REQUIRE(sample.failure);
  CHECK(std::string(sample.failure->what()) == "nobody else can do this");
}

TEST_CASE("who steps in may merge on the device") {
  SumFaults faults;
  faults.at_merge = [] {};
  SumSample setup({failing("0:0", 1e8, 1), fake_device("0:1", 1e7)}, 10'000, faults);
  setup.reserve = 1;
  const RawSample sample = setup.run("equal");
  CHECK(sample.merged_on == DeviceIndex{1});
  CHECK(sample.merge_end == sample.end);
  setup.check_right(sample);
}

TEST_CASE("a device has time to compile what it launches for the first time, and no longer") {
  for (const std::uint64_t launch : {0, 1}) {
    FakeDevice hangs = failing("0:0", 1e8, launch, FakeFault::Kind::hang);
    hangs.compiles_at_launch = true;
    SumSample setup({hangs, fake_device("0:1", 1e8)}, 100'000);
    setup.backend.limit_waits({.build = std::chrono::seconds(5)});
    const RawSample sample = setup.run("equal", milliseconds(100));
    setup.check_right(sample);
    REQUIRE(sample.faults.size() == 1);
    CHECK(sample.faults[0].hung());
    CHECK((sample.faults[0].detection > std::chrono::seconds(5)) == (launch == 0));
    CHECK(sample.faults[0].detection < milliseconds(5'200));
    CHECK(sample.faults[0].what.find(launch == 0 ? "5.1" : "100 ms") != std::string::npos);
  }
}

TEST_CASE("of a device that brings each slice to the host only what is under way is lost") {
  SumFaults faults;
  faults.each_slice = true;
  for (const char* strategy : {"equal", "dynamic"}) {
    SumSample setup({fake_device("0:0", 1e6), failing("0:1", 1e6, 2)}, 16'000, faults);
    const RawSample sample = setup.run(strategy);
    setup.check_right(sample);
    REQUIRE(sample.faults.size() == 1);
    CHECK(sample.faults[0].items_lost <= 4'000);  // two slices
    CHECK(std::none_of(sample.slices.begin(), sample.slices.end(),
                       [](const RawSlice& slice) { return slice.lost; }));
  }
}

TEST_CASE("any exception ends the part of its device, or the sample, and never the process") {
  FakeDevice bad = fake_device("0:1");
  bad.script = [](FakeCall call, std::uint64_t number) {
    if (call == FakeCall::launch && number == 1) throw std::bad_alloc();
    return FakeFault{};
  };
  SumSample of_device({fake_device("0:0"), bad}, 16'000);
  const RawSample without = of_device.run("equal");
  of_device.check_right(without);
  REQUIRE(without.faults.size() == 1);
  CHECK(without.faults[0].kind == ErrorKind::internal);

  const auto throws = [] { throw std::runtime_error("no room on the host"); };
  SumFaults at_begin, at_end, refused_at_end;
  at_begin.at_begin = at_end.at_host_merge = throws;
  refused_at_end.at_host_merge = [] { throw Error(ErrorKind::unsupported, "no room on the host"); };
  for (const SumFaults& faults : {at_begin, at_end, refused_at_end}) {
    const RawSample sample = SumSample(1, 1000, faults).run("equal");
    REQUIRE(sample.failure);
    CHECK(std::string(sample.failure->what()) == "no room on the host");
    CHECK(sample.faults.empty());
  }
}

TEST_SUITE_END();

TEST_CASE("when every device is lost whoever is in reserve does what is left, on either clock") {
  std::size_t turn = 0;
  for (const FakeTime time : {FakeTime::is_virtual, FakeTime::is_real}) {
    for (const StrategyInfo& info : all_strategies()) {
      if (!testing::is_thorough() && turn++ % 3 != 0) continue;
      CAPTURE(info.name);
      SumSample setup({failing("0:0", 1e8, 1), failing("0:1", 1e8, 1), fake_device("0:2", 1e7)},
                      100'000, {}, time);
      setup.reserve = 2;
      const RawSample sample = setup.run(info.name);
      setup.check_right(sample);
      CHECK_FALSE(sample.faults.empty());
      CHECK(setup.asked_reserve <= 1);
    }
  }
}
