#include "tests/support/fake_peers.hpp"

#include <algorithm>
#include <utility>

namespace mgpu {
namespace {

class FakeSharedMemory final : public SharedMemory {
 public:
  FakeSharedMemory(Bytes size, std::vector<std::unique_ptr<Buffer>> pieces, const PeerLinks& links)
      : size_(size), pieces_(std::move(pieces)), links_(links) {}
  Bytes size() const override { return size_; }
  Buffer& piece(DeviceIndex device) override { return *pieces_[device.value]; }
  Buffer* remote(DeviceIndex by, DeviceIndex of) override {
    return by == of || links_.of(by.value, of.value).path != PeerPath::staged
               ? pieces_[of.value].get()
               : nullptr;
  }

 private:
  Bytes size_;
  std::vector<std::unique_ptr<Buffer>> pieces_;  // null: in another process
  PeerLinks links_;
};

}  // namespace

class FakePeers::End final : public FakePeer {
 public:
  End(FakePeers& group, DeviceIndex self) : group_(group), self_(self) {}
  DeviceIndex self() const override { return self_; }
  std::size_t count() const override { return group_.size(); }
  PeerPath path(DeviceIndex to) const override { return link(to).path; }

  void put(Buffer& from, Bytes offset, SharedMemory& into, DeviceIndex to, Bytes to_offset,
           Bytes size) override {
    if (!group_.is_here(to)) {
      if (size == 0) return;  // an empty message is a signal
      const auto sends = [this, source = data_of(from).subspan(offset, size), to, to_offset,
                          memory = static_cast<const NumberedMemory&>(into).number()] {
        PeerParcel parcel{self_, to, memory, to_offset, source};
        // Later commands may change the source: it is copied to memory of the device from which it
        // is sent.
        if (!group_.elsewhere_.why_no_device_memory) {
          const auto kept = std::make_shared<std::vector<std::byte>>(source.begin(), source.end());
          parcel.bytes = *kept;
          parcel.sent = [kept] { std::fill(kept->begin(), kept->end(), std::byte{0xee}); };
        }
        group_.elsewhere_.send(parcel);
      };
      return device().put_elsewhere(sends, size, {to, path(to), false}, link(to));
    }
    device().put(data_of(from).subspan(offset, size),
                 data_of(into.piece(to)).subspan(to_offset, size), {to, path(to), false}, link(to));
  }
  void pretend(DeviceIndex to, Bytes bytes) override {
    device().pretend_put(bytes, {to, path(to), false}, link(to));
  }

  void sync(std::span<const DeviceIndex> signal, std::span<const DeviceIndex> await) override {
    Nanos latency{};  // one latency for all signals, which are given at once
    for (const DeviceIndex to : signal) latency = std::max(latency, link(to).latency);
    for (const DeviceIndex to : signal) {
      device().signal(group_.signals(self_, to), {to, path(to), false},
                      std::exchange(latency, Nanos{}));
      group_.add(self_, Signal{to});
    }
    for (const DeviceIndex from : await) {
      device().await(group_.signals(from, self_), {from, path(from), true});
      group_.add(self_, Await{from});
    }
  }

 private:
  OpenFake& device() { return *group_.devices_[self_.value]; }
  const PeerLink& link(DeviceIndex to) const { return group_.links_.of(self_.value, to.value); }

  FakePeers& group_;
  DeviceIndex self_;
};

FakePeers::FakePeers(FakeBackend& backend, std::shared_ptr<FakeBackend::Machine> machine,
                     std::vector<OpenFake*> devices, PeerLinks links,
                     std::vector<std::string> notes, DevicesElsewhere elsewhere)
    : backend_(backend),
      machine_(std::move(machine)),
      devices_(std::move(devices)),
      links_(std::move(links)),
      notes_(std::move(notes)),
      elsewhere_(std::move(elsewhere)),
      signals_(devices_.size() * devices_.size()),
      orders_(devices_.size()) {
  for (std::uint32_t i = 0; i < devices_.size(); ++i) {
    orders_[i].given.resize(devices_.size());
    orders_[i].awaited.resize(devices_.size());
    peers_.push_back(is_here({i}) ? std::make_unique<End>(*this, DeviceIndex{i}) : nullptr);
    if (is_here({i}))
      devices_[i]->join(peers_[i].get(),
                        [this, i](std::function<void()> effect) { add({i}, std::move(effect)); });
  }
}

FakePeers::~FakePeers() {
  dissolve();
  machine_->forget(signals_);
}

void FakePeers::dissolve() {
  for (OpenFake* device : devices_)
    if (device != nullptr) device->join(nullptr, {});
}

Bytes FakePeers::most_shared() const {
  Bytes most = ~Bytes{0};
  for (const OpenFake* device : devices_)
    if (device != nullptr) most = std::min(most, device->most_shared());
  return most;
}

std::unique_ptr<SharedMemory> FakePeers::allocate(Bytes size) {
  if (size > most_shared())
    throw Error(ErrorKind::unsupported, "pieces of memory that devices share are smaller");
  std::vector<std::unique_ptr<Buffer>> pieces;
  for (OpenFake* device : devices_)
    pieces.push_back(device != nullptr ? device->shared_piece(size) : nullptr);
  return std::make_unique<FakeSharedMemory>(size, std::move(pieces), links_);
}

void FakePeers::add(DeviceIndex device, Step step) {
  const std::lock_guard lock(mutex_);
  orders_[device.value].steps.push_back(std::move(step));
  go_on(device);
}

bool FakePeers::arrived(DeviceIndex device, DeviceIndex from) {
  return !lost_.empty() ||
         orders_[device.value].awaited[from.value] < orders_[from.value].given[device.value];
}

void FakePeers::go_on(DeviceIndex device) {
  Order& mine = orders_[device.value];
  std::vector<DeviceIndex> signalled;
  while (!mine.steps.empty()) {
    Step& step = mine.steps.front();
    if (const auto* await = std::get_if<Await>(&step)) {
      if (!arrived(device, await->from)) break;
      ++mine.awaited[await->from.value];
    } else if (const auto* signal = std::get_if<Signal>(&step);
               signal != nullptr && !is_here(signal->to)) {
      elsewhere_.send({device, signal->to, 0, 0, {}});
    } else if (signal != nullptr) {
      ++mine.given[signal->to.value];
      signalled.push_back(signal->to);
    } else {
      std::get<std::function<void()>>(step)();
    }
    mine.steps.pop_front();
  }
  for (const DeviceIndex to : signalled)
    if (to != device) go_on(to);
}

void FakePeers::mark_failed(DeviceIndex device) {
  {
    const std::lock_guard lock(mutex_);
    if (lost_.empty())
      lost_ = is_here(device) ? devices_[device.value]->resources().traits().id
                              : elsewhere_.ids[device.value];
    for (std::uint32_t i = 0; i < size(); ++i) go_on({i});
  }
  machine_->mark_failed(signals_, backend_.now());
}

void FakePeers::check(DeviceIndex) {
  const std::lock_guard lock(mutex_);
  if (!lost_.empty())
    throw Error(ErrorKind::device, "device " + lost_ + " was lost during an exchange");
}

void FakePeers::arrive(DeviceIndex from, DeviceIndex to, Buffer* into, Bytes offset,
                       std::span<const std::byte> bytes, std::shared_ptr<const void>) {
  {
    const std::lock_guard lock(mutex_);
    if (into != nullptr) {
      std::copy(bytes.begin(), bytes.end(), data_of(*into).subspan(offset).begin());
      return;
    }
    ++orders_[from.value].given[to.value];
    go_on(to);
  }
  machine_->give(signals(from, to), backend_.now());
}

DeviceIndex FakePeers::awaited_by(DeviceIndex device) {
  if (!is_here(device)) return device;
  for (std::uint32_t from = 0; from < size(); ++from)
    if (machine_->waits(signals({from}, device), devices_[device.value]->in_machine()))
      return {from};
  return device;
}

}  // namespace mgpu
