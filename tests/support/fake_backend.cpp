#include "tests/support/fake_backend.hpp"

#include <algorithm>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/opencl/peer_notes.hpp"
#include "tests/support/fake_device.hpp"
#include "tests/support/fake_peers.hpp"

namespace mgpu {

FakeBackend::FakeBackend(std::vector<FakeDevice> devices, FakeKernels kernels, FakeTime time,
                         FakeLink link)
    : time_(time),
      devices_(std::move(devices)),
      kernels_(std::move(kernels)),
      peers_(link.peers),
      machine_(std::make_shared<Machine>(link, time)) {}

FakeBackend::~FakeBackend() = default;

Backend::Enumeration FakeBackend::enumerate() {
  Enumeration found;
  for (const FakeDevice& device : devices_) found.devices.push_back(device.facts);
  std::stable_sort(found.devices.begin(), found.devices.end(),
                   [](const Device& a, const Device& b) { return a.score > b.score; });
  found.platforms = {"fake"};
  return found;
}

std::vector<Device> FakeBackend::split(const Device& device, unsigned parts) {
  throw Error(ErrorKind::unsupported, "device " + device.id + " cannot be split into " +
                                          std::to_string(parts) + " sub-devices");
}

std::unique_ptr<OpenDevice> FakeBackend::open(const Device& device, const Handicap& handicap) {
  const auto at = std::find_if(devices_.begin(), devices_.end(),
                               [&](const FakeDevice& d) { return d.facts.id == device.id; });
  if (at == devices_.end())
    throw Error(ErrorKind::internal, "device " + device.id + " was not enumerated");
  if (ask(*at, FakeCall::open).kind != FakeFault::Kind::none)
    throw Error(ErrorKind::device, "device " + device.id + " cannot be opened, as its script says");
  return std::make_unique<OpenFake>(*at, handicap, kernels_, *this, machine_);
}

std::unique_ptr<PinnedMemory> FakeBackend::pin(std::span<const std::byte>,
                                               std::span<OpenDevice* const>) {
  return nullptr;
}

std::unique_ptr<PeerGroup> FakeBackend::connect(std::span<OpenDevice* const> devices,
                                                std::optional<PeerPath> path) {
  return make_group(devices, path, {});
}

std::unique_ptr<PartOfGroup> FakeBackend::connect_part(std::span<OpenDevice* const> devices,
                                                       std::optional<PeerPath> path,
                                                       DevicesElsewhere elsewhere) {
  return make_group(devices, path, std::move(elsewhere));
}

std::unique_ptr<FakePeers> FakeBackend::make_group(std::span<OpenDevice* const> devices,
                                                   std::optional<PeerPath> path,
                                                   DevicesElsewhere elsewhere) {
  std::vector<OpenFake*> fakes;
  std::vector<std::size_t> places;
  for (OpenDevice* device : devices) {
    fakes.push_back(static_cast<OpenFake*>(device));
    places.push_back(0);
    if (device == nullptr) continue;
    const auto is_it = [&](const FakeDevice& d) {
      return d.facts.id == device->resources().traits().id;
    };
    places.back() = static_cast<std::size_t>(std::find_if(devices_.begin(), devices_.end(), is_it) -
                                             devices_.begin());
  }
  const PeerPath best = no_direct_.empty() ? PeerPath::direct : PeerPath::staged;
  PeerLinks links(devices.size());
  std::vector<StagedPair> staged;
  for (std::size_t from = 0; from < links.devices(); ++from) {
    for (std::size_t to = 0; to < links.devices(); ++to) {
      const FakeDevice &sender = devices_[places[from]], &receiver = devices_[places[to]];
      PeerLink& link = links.of(from, to);
      if (devices[from] == nullptr || devices[to] == nullptr) {
        link = {PeerPath::staged, sender.peer_bytes_per_s, sender.peer_latency};
        continue;
      }
      link = peers_.empty()
                 ? PeerLink{path.value_or(best), sender.peer_bytes_per_s, sender.peer_latency}
                 : peers_.of(places[from], places[to]);
      if (from == to) continue;
      if (path == PeerPath::direct && !no_direct_.empty()) {
        throw Error(ErrorKind::unsupported, "no direct path from " + sender.facts.id + " to " +
                                                receiver.facts.id + ": " + no_direct_);
      }
      if (path && link.path != *path) {
        throw Error(ErrorKind::unsupported, "devices " + sender.facts.id + " and " +
                                                receiver.facts.id + " have no " +
                                                std::string(to_string(*path)) + " path");
      }
      if (!path && !no_direct_.empty())
        staged.push_back({sender.facts.id, receiver.facts.id, no_direct_});
    }
  }
  std::vector<std::string> notes = notes_of(staged, staged.size());
  return std::make_unique<FakePeers>(*this, machine_, std::move(fakes), std::move(links),
                                     std::move(notes), std::move(elsewhere));
}

Nanos FakeBackend::now() { return is_virtual() ? now_ : real_now(); }

bool FakeBackend::advance(std::optional<Nanos> limit) {
  if (!is_virtual()) return false;
  if (const auto end = machine_->advance_to_next_end()) {
    now_ = std::max(now_, *end);
    return true;
  }
  if (!limit || *limit <= now_) return false;
  now_ = *limit;
  return true;
}

FakeFault FakeBackend::ask(const FakeDevice& device, FakeCall call) {
  if (!device.script) return {};
  std::uint64_t number = 0;
  {
    const std::lock_guard lock(calls_mutex_);
    number = calls_[{device.facts.id, call}]++;
  }
  return device.script(call, number);
}

FakeScript fails_from(FakeCall call, std::uint64_t number, FakeFault::Kind kind) {
  return [=](FakeCall each, std::uint64_t at) {
    return each == call && at >= number ? FakeFault{kind} : FakeFault{};
  };
}

void FakeBackend::spend(Nanos time) { now_ += time; }

void fake_transfer(Stream& stream, CommandKind kind, Bytes bytes) {
  dynamic_cast<FakeStream&>(stream).pretend(kind, bytes);
}

void fake_put(Peer& peer, DeviceIndex to, Bytes bytes) {
  dynamic_cast<FakePeer&>(peer).pretend(to, bytes);
}

std::span<std::byte> fake_data(Buffer& buffer) { return data_of(buffer); }

}  // namespace mgpu
