#include "lib/session/link_set.hpp"

#include <fmt/format.h>

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

RunRecord link_case(std::string suite, std::string label, const std::string& mode,
                    std::vector<std::string> devices, LinkRecord link, std::vector<Nanos> samples,
                    double factor) {
  for (Nanos& time : samples)  // a sample of 0 ns would be refused
    time = std::max(time / static_cast<std::int64_t>(link.calls), Nanos{1});
  RunRecord run;
  run.suite = std::move(suite);
  run.strategy = std::move(label);
  run.mode = mode_named(mode);
  run.devices = std::move(devices);
  run.devices_asked = run.devices.size();
  run.time = summarise(samples);
  run.samples = std::move(samples);
  run.work.ops = static_cast<double>(link.bytes) * factor;
  run.rate = run.work.ops / seconds(run.time.median);
  run.rate_unit = "B/s";
  run.verify.status = link.wrong > 0 ? VerifyStatus::failed : VerifyStatus::passed;
  run.verify.method = "known data";
  if (link.wrong > 0) {
    run.status = Status::failed;
    run.reason = fmt::format("elements that arrived wrong: {}", link.wrong);
  }
  run.link = std::move(link);
  return run.status == Status::ok ? run : without_figures(run);
}

}  // namespace mgpu
