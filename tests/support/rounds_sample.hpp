// A sample of a suite's own workload that goes in rounds, with its programs, on devices of the fake
// backend.
#pragma once

#include <doctest/doctest.h>

#include <map>
#include <set>

#include "lib/exec/executor.hpp"
#include "lib/exec/fake_backend.hpp"
#include "lib/plan/rounds.hpp"
#include "lib/workload/workload.hpp"
#include "tests/support/sum_workload.hpp"

namespace mgpu::test {

// A device's end of a group, and the device it is of, whose puts with these numbers, counted from
// 1, do not happen.
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

// A group whose devices share pieces of so many bytes at most, as GPUs do.
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
  void lose(DeviceIndex device) override { group_.lose(device); }
  void check(DeviceIndex device) override { group_.check(device); }
  DeviceIndex awaited_by(DeviceIndex device) override { return group_.awaited_by(device); }

 private:
  PeerGroup& group_;
  Bytes most_;
};

struct RoundsPlanted {
  std::vector<FakeScript> scripts = {};
  std::map<std::size_t, std::set<unsigned>> forgotten;  // puts of devices
  Bytes memory = 0;                                     // of each device; 0: plenty
  Bytes most_shared = ~Bytes{0};                        // in a piece
  bool moves = false;                                   // borders, between rounds
  bool large_groups = false;  // devices have room for those of persistent kernels, two at a time
};

// A sample with these shares, a device each, published.
struct RoundsSample {
  RoundsSample(Workload& workload, FakeKernels kernels, std::vector<Items> shares, Mode mode,
               PeerPath path, const RoundsPlanted& planted)
      : backend(devices(shares.size(), planted), std::move(kernels)) {
    std::vector<OpenDevice*> members;
    for (const FakeDevice& device : devices(shares.size(), planted)) {
      open.push_back(backend.open(device.facts));
      members.push_back(open.back().get());
    }
    group = backend.connect(members, path);
    SmallPieces small(*group, planted.most_shared);
    workload.connect(small);
    SampleRequest request;
    for (std::uint32_t i = 0; i < shares.size(); ++i) {
      const Capacity capacity = workload.capacity(open[i]->resources().traits(), mode);
      REQUIRE_MESSAGE(capacity.fits >= shares[i], capacity.reason);
      DeviceResources* resources = &open[i]->resources();
      if (const auto found = planted.forgotten.find(i); found != planted.forgotten.end())
        resources =
            forgetful.emplace_back(std::make_unique<Forgetful>(*resources, found->second)).get();
      programs.push_back(workload.program(*resources, mode, capacity));
      if (mode == Mode::resident) {
        programs[i]->load(open[i]->stream());
        finish(i);
      }
      request.members.push_back({open[i].get(), programs[i].get()});
      request.places.push_back({i});
      request.exchanging.push_back(shares[i] > 0);
    }
    std::optional<Borders> borders;
    if (planted.moves) {
      std::vector<DeviceEstimate> estimates(shares.size());
      for (DeviceEstimate& device : estimates) device.fits = workload.shape().items;
      PlanRequest plan;
      plan.items = workload.shape().items;
      plan.devices = estimates;
      plan.rounds = workload.shape().rounds;
      borders.emplace(plan, shares);
    }
    const auto source = make_kept_shares(shares, borders);
    request.workload = &workload;
    request.source = source.get();
    request.peers = group.get();
    raw = Executor(backend, shares.size()).run(request);
    for (std::uint32_t i = 0; i < shares.size() && !raw.failure; ++i) {
      programs[i]->publish(open[i]->stream());
      finish(i);
      programs[i]->published();
    }
    programs.clear();
    workload.disconnect();
  }

  static std::vector<FakeDevice> devices(std::size_t count, const RoundsPlanted& planted) {
    std::vector<FakeDevice> made;
    for (std::size_t i = 0; i < count; ++i) {
      made.push_back(fake_device("0:" + std::to_string(i), 1e6 * static_cast<double>(1 + i % 3)));
      made.back().facts.max_work_group = planted.large_groups ? 256 : 64;
      if (planted.large_groups) made.back().facts.compute_units = 2;
      if (planted.large_groups) made.back().facts.local_memory = Bytes{1} << 20;
      made.back().facts.fp64 = true;
      if (planted.memory > 0)
        made.back().facts.global_memory = made.back().facts.max_allocation = planted.memory;
      if (i < planted.scripts.size()) made.back().script = planted.scripts[i];
    }
    return made;
  }
  void finish(std::size_t i) {
    const BatchId batch = open[i]->submit();
    while (!open[i]->complete(batch)) REQUIRE(backend.advance({}));
    open[i]->take(batch);
  }

  FakeBackend backend;
  std::vector<std::unique_ptr<OpenDevice>> open;
  std::unique_ptr<PeerGroup> group;
  std::vector<std::unique_ptr<Forgetful>> forgetful;
  std::vector<std::unique_ptr<DeviceProgram>> programs;
  RawSample raw;
};

}  // namespace mgpu::test
