#include "lib/session/settle.hpp"

#include <algorithm>
#include <vector>

#include "lib/exec/driver_call.hpp"

namespace mgpu {
namespace {

// Returns a group of the devices; null: they cannot exchange data.
std::unique_ptr<PeerGroup> group_of(Backend& backend, std::span<OpenDevice* const> devices,
                                    std::optional<PeerPath> path) {
  if (devices.size() < 2) return nullptr;
  try {
    return backend.connect(devices, path);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::interrupted) throw;
    return nullptr;
  }
}

}  // namespace

Problem settled(const Problem& problem, Backend& backend, std::span<const SessionDevice> devices,
                std::optional<PeerPath> path, const std::map<std::string, std::string>* earlier,
                SessionObserver& observer) {
  Problem settled = problem;
  if (problem.suite->optional.resolve_with_devices == nullptr) return settled;
  if (earlier != nullptr) {
    settled.settled = *earlier;
    for (const auto& [name, value] : *earlier) settled.params.options[name] = value;
    return settled;
  }
  std::vector<OpenDevice*> open;
  std::vector<DeviceResources*> resources;
  for (const SessionDevice& device : devices) {
    if (!device.open || device.reserve || device.lost) continue;
    open.push_back(device.open.get());
    resources.push_back(&device.open->resources());
  }
  try {
    const std::unique_ptr<PeerGroup> group = group_of(backend, open, path);
    attend(backend, nullptr, [&] {
      problem.suite->optional.resolve_with_devices(settled.params, resources, group.get());
    });
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::interrupted)  // the cases report an interruption
      observer.warning(problem.suite->name +
                       ": what its options leave open could not be measured: " + error.what());
    settled.params = problem.params;
  }
  for (const auto& [name, value] : settled.params.options) {
    const auto asked = problem.params.options.find(name);
    if (asked == problem.params.options.end() || asked->second != value)
      settled.settled[name] = value;
  }
  return settled;
}

}  // namespace mgpu
