// Exchange between devices of the fake backend. The order of data is independent of time: a command
// after a wait runs as soon as the signal has been enqueued and everything before it has run, on
// whichever thread that happens.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <variant>
#include <vector>

#include "lib/exec/part_of_group.hpp"
#include "tests/support/fake_device.hpp"

namespace mgpu {

class FakePeer : public Peer {
 public:
  virtual void pretend(DeviceIndex to, Bytes bytes) = 0;  // fake_put
};

class FakePeers final : public PartOfGroup {
 public:
  // `devices` are null for devices of other processes. `links` are between the devices, by
  // position. `notes` say why some links are staged.
  FakePeers(FakeBackend& backend, std::shared_ptr<FakeBackend::Machine> machine,
            std::vector<OpenFake*> devices, PeerLinks links, std::vector<std::string> notes = {},
            DevicesElsewhere elsewhere = {});
  ~FakePeers() override;

  std::size_t size() const override { return devices_.size(); }
  Peer& peer(DeviceIndex device) override { return *peers_[device.value]; }
  std::unique_ptr<SharedMemory> allocate(Bytes size) override;
  Bytes most_shared() const override;
  std::span<const std::string> notes() const override { return notes_; }
  void mark_failed(DeviceIndex device) override;
  void dissolve() override;
  void check(DeviceIndex device) override;
  DeviceIndex awaited_by(DeviceIndex device) override;
  std::optional<std::string> why_through_host() const override {
    return elsewhere_.why_no_device_memory;
  }
  void arrive(DeviceIndex from, DeviceIndex to, Buffer* into, Bytes offset,
              std::span<const std::byte> bytes, std::shared_ptr<const void> owner) override;

 private:
  class End;  // one device's end of the group
  struct Signal {
    DeviceIndex to;
  };
  struct Await {
    DeviceIndex from;
  };
  using Step = std::variant<std::function<void()>, Signal, Await>;
  struct Order {             // the commands of a device, in order
    std::deque<Step> steps;  // the first is an Await whose signal has not been enqueued
    std::vector<std::uint64_t> given, awaited;  // signals to and from each device
  };

  bool is_here(DeviceIndex device) const { return devices_[device.value] != nullptr; }
  FakeSignals& signals(DeviceIndex from, DeviceIndex to) {
    return signals_[from.value * size() + to.value];
  }
  void add(DeviceIndex device, Step step);
  void go_on(DeviceIndex device);  // requires the lock
  bool arrived(DeviceIndex device, DeviceIndex from);

  FakeBackend& backend_;
  std::shared_ptr<FakeBackend::Machine> machine_;
  std::vector<OpenFake*> devices_;
  PeerLinks links_;
  std::vector<std::string> notes_;
  DevicesElsewhere elsewhere_;
  std::vector<FakeSignals> signals_;  // indexed by sender and receiver
  std::vector<std::unique_ptr<Peer>> peers_;
  std::mutex mutex_;
  std::vector<Order> orders_;
  std::string lost_;  // id of the failed device; empty: none
};

}  // namespace mgpu
