#include "lib/session/link_set.hpp"

#include <algorithm>

#include "lib/exec/leak.hpp"

namespace mgpu {

LinkSet::LinkSet(Backend& backend, std::vector<OpenDevice*> devices, std::optional<PeerPath> path)
    : backend_(backend),
      devices_(std::move(devices)),
      group_(backend.connect(devices_, path)),
      together_(backend, devices_, group_.get()) {
  for (std::uint32_t i = 0; i < devices_.size(); ++i) all_.push_back({i});
}

OwnedLinkSet LinkSet::make(Backend& backend, std::vector<OpenDevice*> devices,
                           std::optional<PeerPath> path) {
  return OwnedLinkSet(new LinkSet(backend, std::move(devices), path));
}

void LinkSet::End::operator()(LinkSet* set) const noexcept {
  std::unique_ptr<LinkSet> owned(set);
  bool at_rest = true;
  for (OpenDevice* device : set->devices_)
    at_rest = (device->drained() || try_drain(set->backend_, *device)) && at_rest;
  if (!at_rest) leak(std::move(owned));
}

bool LinkSet::any_cpu() {
  return std::any_of(devices_.begin(), devices_.end(),
                     [](OpenDevice* d) { return d->resources().traits().cpu; });
}

std::vector<std::string> LinkSet::ids(std::span<const DeviceIndex> of) {
  std::vector<std::string> names;
  for (const DeviceIndex i : of) names.push_back(traits(i).id);
  return names;
}

std::string LinkSet::path_among(std::span<const DeviceIndex> of) {
  std::string path;
  for (const DeviceIndex from : of) {
    for (const DeviceIndex to : of) {
      if (from == to) continue;
      const std::string_view one = to_string(peer(from).path(to));
      if (!path.empty() && path != one) return "mixed";
      path = one;
    }
  }
  return path;
}

HostMemory& LinkSet::host_memory(Bytes size) {
  return hold(std::make_unique<HostMemory>(backend_, size, devices_, true));
}

}  // namespace mgpu
