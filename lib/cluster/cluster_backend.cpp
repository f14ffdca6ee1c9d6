#include "lib/cluster/cluster_backend.hpp"

#include <algorithm>
#include <utility>

#include "lib/base/add_once.hpp"
#include "lib/cluster/cluster_peers.hpp"

namespace mgpu {
namespace {

constexpr std::uint32_t kExchangesOfRun = 100;

}  // namespace

ClusterBackend::ClusterBackend(Backend& local, Post& post, GroupParts& parts,
                               std::vector<std::shared_ptr<NodeLink>> links, std::string own_host)
    : local_(local),
      post_(post),
      parts_(parts),
      links_(std::move(links)),
      own_host_(std::move(own_host)),
      began_(links_.size()) {
  for (std::size_t rank = 1; rank < links_.size(); ++rank) began_[rank] = offset_to(*links_[rank]);
}

std::optional<ClockOffset> ClusterBackend::offset_to(NodeLink& link) {
  try {
    link.look_at_clock(kExchangesOfRun);
  } catch (const Error&) {  // the rank has failed; this is reported when it is used
    return std::nullopt;
  }
  return link.clock().newest();
}

void ClusterBackend::limit_waits(WaitLimits limits) {
  Backend::limit_waits(limits);
  for (const auto& link : links_) {
    if (link == nullptr) continue;
    Writer call = NodeLink::begin(Call::settle, 0);
    call.put(limits.answer).put(limits.build);
    link->send(std::move(call));
  }
  local_.limit_waits(std::move(limits));
}

Backend::Enumeration ClusterBackend::enumerate() {
  Enumeration all = local_.enumerate();
  std::vector<RankDevices> ranks{{own_host_, std::move(all.devices)}};
  for (std::size_t rank = 1; rank < links_.size(); ++rank) {
    NodeLink& link = *links_[rank];
    const Message answer = link.ask(link.begin_asking(Call::enumerate, 0), "listing devices",
                                    limits().build + limits().answer, limits().stop);
    Reader in(answer);
    RankDevices& its = ranks.emplace_back();
    its.host = link.host();
    its.devices.resize(in.count());
    for (Device& device : its.devices) device = read_device(in);
    for (auto left = in.get<std::uint64_t>(); left > 0; --left)
      all.warnings.push_back(link.name() + ": " + in.text());
    for (auto left = in.get<std::uint64_t>(); left > 0; --left) {
      std::string platform = in.text();
      add_once(all.platforms, std::move(platform));
    }
    if (const std::string differs = driver_difference(ranks.front(), its); !differs.empty())
      throw Error(ErrorKind::usage,
                  "ranks 0 and " + std::to_string(rank) + " differ in " + differs +
                      "; expected: ranks with the same drivers, so that results mean the same");
  }
  SharedOut shared = share_out(ranks);
  devices_ = shared.devices;
  all.devices.clear();
  for (const OwnedDevice& owned : devices_) all.devices.push_back(owned.device);
  all.warnings.insert(all.warnings.end(), shared.notes.begin(), shared.notes.end());
  return all;
}

std::vector<Device> ClusterBackend::parts_of(RankNumber rank, const std::string& id,
                                             unsigned parts) {
  std::vector<Device> all;
  if (rank == 0) {
    Device device;
    const auto same = [&](const OwnedDevice& one) {
      return local_id(one.device.id).id == id && one.device.is_cpu();
    };
    if (const auto at = std::find_if(devices_.begin(), devices_.end(), same); at != devices_.end())
      device = at->device;
    device.id = id;
    all = local_.split(device, parts);
  } else {
    NodeLink& link = *links_[rank];
    Writer call = link.begin_asking(Call::split, 0);
    call.text(id).put(parts);
    const Message answer = link.ask(std::move(call), "splitting " + id,
                                    limits().build + limits().answer, limits().stop);
    Reader in(answer);
    all.resize(in.count());
    for (Device& part : all) part = read_device(in);
  }
  for (Device& part : all) {
    part.id = global_id(rank, part.id);
    part.node = DeviceNode{rank, rank == 0 ? own_host_ : links_[rank]->host()};
  }
  return all;
}

// Splits a device. If several ranks see the CPU, the parts go to them in turn, so that all compute.
std::vector<Device> ClusterBackend::split(const Device& device, unsigned parts) {
  const LocalId local = local_id(device.id);
  const auto same = [&](const OwnedDevice& one) { return one.device.id == device.id; };
  const auto owned = std::find_if(devices_.begin(), devices_.end(), same);
  std::vector<RankNumber> holders{local.rank};
  if (owned != devices_.end() && device.is_cpu()) holders = owned->holders;
  std::vector<std::vector<Device>> by_holder;
  for (const RankNumber holder : holders) by_holder.push_back(parts_of(holder, local.id, parts));
  std::vector<Device> made;
  for (std::size_t i = 0; i < by_holder.front().size(); ++i)
    made.push_back(by_holder[i % holders.size()].at(i));
  return made;
}

std::unique_ptr<OpenDevice> ClusterBackend::open(const Device& device, const Handicap& handicap) {
  const LocalId local = local_id(device.id);
  if (local.rank == 0) return local_.open(device, handicap);
  if (local.rank >= links_.size())
    throw Error(ErrorKind::no_device, "device " + device.id + " is of a rank that is not there");
  links_[local.rank]->throw_if_lost();
  return std::make_unique<RemoteDevice>(*this, links_[local.rank], device, local.id, handicap);
}

bool ClusterBackend::is_local(OpenDevice* device) const {
  return dynamic_cast<RemoteDevice*>(device) == nullptr;
}

std::unique_ptr<PinnedMemory> ClusterBackend::pin(std::span<const std::byte> memory,
                                                  std::span<OpenDevice* const> devices) {
  std::vector<OpenDevice*> mine;
  std::copy_if(devices.begin(), devices.end(), std::back_inserter(mine),
               [&](OpenDevice* device) { return is_local(device); });
  return local_.pin(memory, mine);
}

std::unique_ptr<PeerGroup> ClusterBackend::connect(std::span<OpenDevice* const> devices,
                                                   std::optional<PeerPath> path) {
  if (std::all_of(devices.begin(), devices.end(),
                  [&](OpenDevice* device) { return is_local(device); }))
    return local_.connect(devices, path);
  auto group =
      std::make_unique<ClusterPeers>(local_, *this, parts_, links_, next_group_++, devices, path);
  for (const auto& [rank, why] : group->through_host()) through_host_[rank] = why;
  return group;
}

std::optional<ClusterRecord> ClusterBackend::cluster() {
  ClusterRecord record;
  record.library = post_.library();
  record.nodes.push_back({0, own_host_, std::nullopt, std::nullopt, std::nullopt});
  for (std::uint32_t rank = 1; rank < links_.size(); ++rank) {
    const auto lost = post_.lost(rank);
    const auto end = lost ? std::nullopt : offset_to(*links_[rank]);
    record.nodes.push_back({rank, links_[rank]->host(), began_[rank], end, lost});
  }
  for (const auto& [rank, why] : through_host_) {
    record.nodes[rank].exchange_memory = why.empty() ? "device" : "host";
    record.nodes[rank].exchange_memory_reason = why;
  }
  return record;
}

}  // namespace mgpu
