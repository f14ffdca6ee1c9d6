// The connected devices that `links` measures, and the objects they use: freed in the right order,
// or leaked if a device does not become idle.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/measure/calibration_parts.hpp"
#include "lib/measure/together.hpp"
#include "lib/report/record.hpp"

namespace mgpu {

class LinkSet {
 public:
  // Deleter: waits until the devices are idle. If one does not become idle, the whole set is
  // leaked: commands may be using its memory, and a thread inside a driver may still return to it.
  struct End {
    void operator()(LinkSet* set) const noexcept;
  };
  // Connects opened devices, which must outlive the set. `path` and errors: as in Backend::connect.
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

  // Returns "direct", "staged" or "host"; "mixed" if the pairs differ; empty for fewer than two
  // devices.
  std::string path_among(std::span<const DeviceIndex> of);

  // Keeps an object until the set is destroyed. Objects used by threads of together() belong here,
  // as only these outlive a thread that does not return.
  template <class T>
  T& hold(std::unique_ptr<T> object) {
    return holdings_.add(std::move(object));
  }
  HostMemory& host_memory(Bytes size);  // pinned for all of the devices
  // Calls `enqueue` for each of `who`, and waits for all commands.
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

// Returns the record of a case of `links`. `samples`: times of `link.calls` calls each. `factor`:
// rate of the case / rate of `link.bytes`.
RunRecord link_case(std::string suite, std::string label, const std::string& mode,
                    std::vector<std::string> devices, LinkRecord link, std::vector<Nanos> samples,
                    double factor = 1);

}  // namespace mgpu
