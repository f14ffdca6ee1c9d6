#include "lib/cluster/group_parts.hpp"

#include <algorithm>
#include <utility>

#include "lib/exec/leak.hpp"

namespace mgpu {

PartOfGroup& GroupParts::connect(std::uint64_t group, Backend& backend,
                                 std::span<OpenDevice* const> devices,
                                 std::vector<GroupMember> members, std::optional<PeerPath> path) {
  DevicesElsewhere elsewhere;
  for (const GroupMember& member : members) elsewhere.ids.push_back(member.id);
  elsewhere.send = [this, group, members = std::move(members)](const PeerParcel& parcel) {
    Writer out(Call::parcel);
    out.put(group).put(parcel.from).put(parcel.to).put(parcel.memory).put(parcel.offset);
    const RankNumber rank = members[parcel.to.value].rank;
    if (!parcel.sent) return post_.send(rank, out.bytes(parcel.bytes).take());
    out.put(std::uint64_t{parcel.bytes.size()});  // as bytes() begins
    post_.send(rank, out.take(), {parcel.bytes, parcel.begin, parcel.sent});
  };
  elsewhere.why_no_device_memory = post_.why_no_device_memory();
  Part part;
  for (OpenDevice* device : devices)
    part.of_cpus = part.of_cpus && (device == nullptr || device->resources().traits().cpu);
  auto* const connects = dynamic_cast<ConnectsParts*>(&backend);
  if (connects == nullptr)
    throw Error(ErrorKind::unsupported,
                "devices of this backend exchange nothing with those of other ranks");
  part.group = connects->connect_part(devices, path, std::move(elsewhere));
  post_.expect(1, !part.of_cpus);
  const std::lock_guard lock(mutex_);
  return *(parts_[group] = std::move(part)).group;
}

void GroupParts::disconnect(std::uint64_t group, bool may_be_in_flight) {
  Part part;
  {
    const std::lock_guard lock(mutex_);
    const auto at = parts_.find(group);
    if (at == parts_.end()) return;
    part = std::move(at->second);
    parts_.erase(at);
  }
  post_.expect(-1, !part.of_cpus);
  if (!may_be_in_flight) return;
  leak(std::move(part.memories));
  leak(std::move(part.group));
}

std::shared_ptr<PartOfGroup> GroupParts::of(std::uint64_t group) {
  const std::lock_guard lock(mutex_);
  const auto at = parts_.find(group);
  if (at == parts_.end()) throw Error(ErrorKind::internal, "a group of devices that is not there");
  return at->second.group;
}

std::shared_ptr<SharedPart> GroupParts::allocate(std::uint64_t group, std::uint64_t memory,
                                                 Bytes size) {
  auto made = std::make_shared<SharedPart>(of(group)->allocate(size), memory);
  const std::lock_guard lock(mutex_);
  return parts_.at(group).memories[memory] = std::move(made);
}

std::shared_ptr<SharedPart> GroupParts::memory(std::uint64_t group, std::uint64_t memory) {
  const std::lock_guard lock(mutex_);
  return parts_.at(group).memories.at(memory);
}

void GroupParts::free(std::uint64_t group, std::uint64_t memory) {
  std::shared_ptr<SharedPart> freed;  // freed without the lock
  const std::lock_guard lock(mutex_);
  const auto at = parts_.find(group);
  if (at == parts_.end()) return;
  const auto part = at->second.memories.extract(memory);
  if (!part.empty()) freed = part.mapped();
}

void GroupParts::mark_failed(std::uint64_t group, DeviceIndex device) {
  const std::lock_guard lock(mutex_);
  if (const auto at = parts_.find(group); at != parts_.end()) at->second.group->mark_failed(device);
}

void GroupParts::check(std::uint64_t group, DeviceIndex device) { of(group)->check(device); }
DeviceIndex GroupParts::awaited_by(std::uint64_t group, DeviceIndex device) {
  return of(group)->awaited_by(device);
}

void GroupParts::arrived(std::shared_ptr<const Message> parcel) {
  Reader in(*parcel);
  in.get<Call>();
  const auto group = in.get<std::uint64_t>();
  const auto from = in.get<DeviceIndex>(), to = in.get<DeviceIndex>();
  const auto memory = in.get<std::uint64_t>();
  const auto offset = in.get<Bytes>();
  const auto bytes = in.bytes();
  const std::lock_guard lock(mutex_);
  const auto at = parts_.find(group);
  if (at == parts_.end()) return;  // the group has ended
  Buffer* into = nullptr;
  if (!bytes.empty()) {
    const auto part = at->second.memories.find(memory);
    if (part == at->second.memories.end()) return;
    into = &part->second->piece(to);
    if (offset > into->size() || bytes.size() > into->size() - offset)
      throw Error(ErrorKind::internal, "data of another rank does not fit where it belongs");
  }
  at->second.group->arrive(from, to, into, offset, bytes, parcel);
}

}  // namespace mgpu
