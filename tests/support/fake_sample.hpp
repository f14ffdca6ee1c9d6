// A sample of a suite's own workload, with its programs, on devices of the fake backend.
#pragma once

#include <doctest/doctest.h>

#include <map>
#include <set>

#include "lib/exec/executor.hpp"
#include "lib/plan/rounds.hpp"
#include "lib/plan/strategy.hpp"
#include "lib/workload/workload.hpp"
#include "tests/support/fake_backend.hpp"
#include "tests/support/sum_workload.hpp"

namespace mgpu::test {

// A device's end of a group that omits the puts whose numbers, counted from 1, are in `forgotten`.
class ForgetfulPeer final : public Peer {
 public:
  ForgetfulPeer(Peer& peer, std::set<unsigned> forgotten)
      : peer_(peer), forgotten_(std::move(forgotten)) {}
  DeviceIndex self() const override { return peer_.self(); }
  std::size_t count() const override { return peer_.count(); }
  PeerPath path(DeviceIndex to) const override { return peer_.path(to); }
  void put(Buffer& from, Bytes offset, SharedMemory& into, DeviceIndex to, Bytes to_offset,
           Bytes size) override {
    if (!forgotten_.contains(++puts_)) peer_.put(from, offset, into, to, to_offset, size);
  }
  void sync(std::span<const DeviceIndex> signal, std::span<const DeviceIndex> await) override {
    peer_.sync(signal, await);
  }

 private:
  Peer& peer_;
  std::set<unsigned> forgotten_;
  unsigned puts_ = 0;
};

class Forgetful final : public DeviceResources {
 public:
  Forgetful(DeviceResources& device, std::set<unsigned> forgotten)
      : device_(device), peer_(*device.peer(), std::move(forgotten)) {}
  const DeviceTraits& traits() const override { return device_.traits(); }
  std::unique_ptr<Buffer> allocate(Bytes size) override { return device_.allocate(size); }
  Peer* peer() override { return &peer_; }
  std::unique_ptr<Kernel> kernel(std::string_view file, std::string_view entry,
                                 const std::string& options) override {
    return device_.kernel(file, entry, options);
  }

 private:
  DeviceResources& device_;
  ForgetfulPeer peer_;
};

// A group whose devices share pieces of at most `most` bytes, as GPUs do.
class SmallPieces final : public PeerGroup {
 public:
  SmallPieces(PeerGroup& group, Bytes most) : group_(group), most_(most) {}
  std::size_t size() const override { return group_.size(); }
  Peer& peer(DeviceIndex device) override { return group_.peer(device); }
  std::unique_ptr<SharedMemory> allocate(Bytes size) override {
    if (size > most_) throw Error(ErrorKind::unsupported, "pieces are too large");
    return group_.allocate(size);
  }
  std::span<const std::string> notes() const override { return group_.notes(); }
  void mark_failed(DeviceIndex device) override { group_.mark_failed(device); }
  void check(DeviceIndex device) override { group_.check(device); }
  DeviceIndex awaited_by(DeviceIndex device) override { return group_.awaited_by(device); }

 private:
  PeerGroup& group_;
  Bytes most_;
};

struct Planted {
  std::vector<FakeScript> scripts = {};
  std::map<std::size_t, std::set<unsigned>> forgotten = {};  // numbers of omitted puts, by device
  Bytes memory = 0;                                          // per device; 0: plenty
  Bytes most_shared = ~Bytes{0};                             // largest shared piece
  bool moves = false;         // the partition moves between iterations
  bool large_groups = false;  // devices have room for two groups of persistent kernels
};

struct FakeSample {
  // Takes a sample of iterative work, with one device per share.
  FakeSample(Workload& workload, FakeKernels kernels, const std::vector<Items>& shares, Mode mode,
             PeerPath path, const Planted& planted = {})
      : FakeSample(std::move(kernels), devices(shares.size(), planted)) {
    std::vector<OpenDevice*> participants;
    for (const auto& device : open) participants.push_back(device.get());
    group = backend.connect(participants, path);
    SmallPieces small(*group, planted.most_shared);
    workload.exchange()->connect(small);
    SampleRequest request;
    for (std::uint32_t i = 0; i < shares.size(); ++i) {
      DeviceResources* resources = &open[i]->resources();
      if (const auto found = planted.forgotten.find(i); found != planted.forgotten.end())
        resources =
            forgetful.emplace_back(std::make_unique<Forgetful>(*resources, found->second)).get();
      const Capacity capacity = workload.capacity(resources->traits(), mode);
      REQUIRE_MESSAGE(capacity.fits >= shares[i], capacity.reason);
      add_program(workload, *resources, mode, capacity);
      request.places.push_back({i});
      request.exchanging.push_back(shares[i] > 0);
    }
    std::optional<Rebalancer> rebalancer;
    if (planted.moves) {
      std::vector<DeviceEstimate> estimates(shares.size());
      for (DeviceEstimate& device : estimates) device.fits = workload.shape().items;
      PlanRequest plan;
      plan.items = workload.shape().items;
      plan.devices = estimates;
      plan.rounds = workload.shape().rounds;
      rebalancer.emplace(plan, shares);
    }
    request.peers = group.get();
    run(workload, request, make_kept_shares(shares, rebalancer));
    workload.exchange()->disconnect();
  }

  // Takes a sample with slices of two items, split equally.
  FakeSample(Workload& workload, FakeKernels kernels, std::vector<FakeDevice> fakes, Mode mode)
      : FakeSample(std::move(kernels), std::move(fakes)) {
    std::vector<DeviceEstimate> estimates;
    for (const auto& device : open) {
      Capacity capacity = workload.capacity(device->resources().traits(), mode);
      capacity.pipeline = 2;
      add_program(workload, device->resources(), mode, capacity);
      DeviceEstimate& estimate = estimates.emplace_back();
      estimate.items_per_s = 1;
      estimate.score = 50;
      estimate.fits = capacity.fits;
      estimate.pipeline = capacity.pipeline;
    }
    PlanRequest plan;
    plan.items = workload.shape().items;
    plan.mode = mode;
    plan.cost = workload.shape().cost;
    plan.devices = estimates;
    const StrategyChoice choice = parse_strategies("equal").front();
    run(workload, {}, choice.info->make(choice.params)->begin(plan, {}));
  }

  // Returns the commands of all devices on one clock.
  std::vector<Command> commands() const {
    return to_timeline(raw, std::vector<ClockMap>(open.size())).commands;
  }

  static std::vector<FakeDevice> devices(std::size_t count, const Planted& planted = {}) {
    std::vector<FakeDevice> made;
    for (std::size_t i = 0; i < count; ++i) {
      FakeDevice& device = made.emplace_back(
          fake_device("0:" + std::to_string(i), 1e6 * static_cast<double>(1 + i % 3)));
      device.facts.max_work_group = planted.large_groups ? 256 : 64;
      if (planted.large_groups) device.facts.compute_units = 2;
      if (planted.large_groups) device.facts.local_memory = Bytes{1} << 20;
      device.facts.fp64 = true;
      if (planted.memory > 0)
        device.facts.global_memory = device.facts.max_allocation = planted.memory;
      if (i < planted.scripts.size()) device.script = planted.scripts[i];
    }
    return made;
  }

  FakeBackend backend;
  std::vector<std::unique_ptr<OpenDevice>> open;
  std::unique_ptr<PeerGroup> group;
  std::vector<std::unique_ptr<Forgetful>> forgetful;
  std::vector<std::unique_ptr<DeviceProgram>> programs;
  RawSample raw;

 private:
  FakeSample(FakeKernels kernels, std::vector<FakeDevice> fakes)
      : backend(fakes, std::move(kernels)) {
    for (const FakeDevice& device : fakes) open.push_back(backend.open(device.facts));
  }
  void add_program(Workload& workload, DeviceResources& resources, Mode mode,
                   const Capacity& capacity) {
    programs.push_back(workload.program(resources, mode, capacity));
    if (mode != Mode::resident) return;
    programs.back()->load(open[programs.size() - 1]->stream());
    finish(programs.size() - 1);
  }
  // Runs the sample and publishes each device's whereabouts.
  void run(Workload& workload, SampleRequest request, std::unique_ptr<SliceSource> source) {
    for (std::size_t i = 0; i < open.size(); ++i)
      request.participants.push_back({open[i].get(), programs[i].get()});
    request.workload = &workload;
    request.source = source.get();
    raw = Executor(backend, open.size()).run(request);
    for (std::uint32_t i = 0; i < open.size() && !raw.failure; ++i) {
      if (std::any_of(raw.faults.begin(), raw.faults.end(),
                      [&](const auto& fault) { return fault.device.value == i; }))
        continue;
      const Completion completion = programs[i]->publish(open[i]->stream());
      finish(i);
      if (completion) completion();
    }
    programs.clear();
  }
  void finish(std::size_t i) {
    const BatchId batch = open[i]->submit();
    while (!open[i]->complete(batch)) REQUIRE(backend.advance({}));
    open[i]->take(batch);
  }
};

// Checks that the sample did not fail and that its result equals the reference.
inline void check_right(const FakeSample& sample, Workload& workload) {
  REQUIRE_MESSAGE(!sample.raw.failure, (sample.raw.failure ? sample.raw.failure->what() : ""));
  const Verdict verdict = workload.verify(VerifyLevel::full, 1);
  CHECK_MESSAGE(verdict.status == Verdict::Status::passed, verdict.message);
}

// Splits `items` into uneven shares for that many devices, none smaller than `least`.
inline std::vector<Items> uneven_shares(std::size_t devices, Items items, Items least) {
  std::vector<Items> shares(devices, least);
  Items left = items - devices * least;
  for (std::size_t i = 0; left > 0; i = (i + 1) % devices) {
    const Items more = std::min<Items>(left, 1 + i % 3);
    shares[i] += more;
    left -= more;
  }
  return shares;
}

// Gives more than half of the items to the first device and the rest to the last.
inline std::vector<Items> greedy_shares(std::size_t devices, Items items) {
  std::vector<Items> shares(devices, 0);
  shares.front() = items / 2 + 1;
  shares.back() += items - shares.front();
  return shares;
}

}  // namespace mgpu::test
