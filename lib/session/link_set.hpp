// The devices that `links` measures, connected, with what they use: freed in the right order, or
// leaked where a device does not come to rest.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/measure/calibration_parts.hpp"
#include "lib/measure/together.hpp"

namespace mgpu {

class LinkSet {
 public:
  // Waits until the devices are at rest. A set with one that does not come to rest is left behind
  // whole: commands may be using what it holds, and a thread inside a driver may yet come back to
  // it.
  struct End {
    void operator()(LinkSet* set) const noexcept;
  };
  // Of opened devices, which must outlive it. `path`: as Backend::connect has it, and its errors.
  static std::unique_ptr<LinkSet, End> make(Backend& backend, std::vector<OpenDevice*> devices,
                                            std::optional<PeerPath> path);
  LinkSet(const LinkSet&) = delete;
  LinkSet& operator=(const LinkSet&) = delete;

  Backend& backend() { return backend_; }
  std::size_t size() const { return devices_.size(); }
  OpenDevice& device(DeviceIndex i) { return *devices_[i.value]; }
  std::span<OpenDevice* const> devices() { return devices_; }
  const DeviceTraits& traits(DeviceIndex i) { return device(i).resources().traits(); }
  bool any_cpu();
  PeerGroup& group() { return *group_; }
  Peer& peer(DeviceIndex i) { return group_->peer(i); }
  Together& together() { return together_; }
  std::span<const DeviceIndex> all() const { return all_; }
  std::vector<std::string> ids(std::span<const DeviceIndex> of);

  // "direct", "staged", "host"; "mixed" where pairs of these differ; empty for fewer than two.
  std::string path_among(std::span<const DeviceIndex> of);

  // Until the end of this. What threads of together() use belongs here, as nothing else outlives
  // one that does not return.
  template <class T>
  T& hold(std::unique_ptr<T> object) {
    return holdings_.add(std::move(object));
  }
  HostMemory& host_memory(Bytes size);  // pinned for all of the devices
  // Enqueues what `enqueue` does for each of `who`, and waits for it.
  template <class F>
  void once(std::span<const DeviceIndex> who, const F& enqueue) {
    together_.once(who, enqueue);
  }

 private:
  LinkSet(Backend& backend, std::vector<OpenDevice*> devices, std::optional<PeerPath> path);

  Backend& backend_;
  std::vector<OpenDevice*> devices_;
  std::vector<DeviceIndex> all_;
  std::unique_ptr<PeerGroup> group_;
  Together together_;
  Holdings holdings_;  // last: freed before the group that it belongs to
};

using OwnedLinkSet = std::unique_ptr<LinkSet, LinkSet::End>;

}  // namespace mgpu
