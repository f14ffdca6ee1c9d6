// Devices of several ranks as one group, for rank 0. Each rank has a part of it (group_parts.hpp).
// Between devices of one rank data takes its usual path; between ranks it goes from the host of one
// to the host of the other. Puts, signals and waits of devices of other ranks are calls like all
// others, and nothing waits for an answer.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/cluster/group_parts.hpp"
#include "lib/cluster/remote_device.hpp"

namespace mgpu {

class ClusterPeers final : public PeerGroup {
 public:
  // All arguments must outlive it; `links` is indexed by rank, with null for rank 0; `number` is
  // unique among groups. Throws what Backend::connect throws.
  ClusterPeers(Backend& local, Backend& backend, GroupParts& parts,
               std::span<const std::shared_ptr<NodeLink>> links, std::uint64_t number,
               std::span<OpenDevice* const> devices, std::optional<PeerPath> path);
  ~ClusterPeers() override;

  std::size_t size() const override { return members_.size(); }
  Peer& peer(DeviceIndex device) override;
  std::unique_ptr<SharedMemory> allocate(Bytes size) override;
  Bytes most_shared() const override { return most_shared_; }
  std::span<const std::string> notes() const override { return notes_; }
  void mark_failed(DeviceIndex device) override;
  void check(DeviceIndex device) override;
  DeviceIndex awaited_by(DeviceIndex device) override;
  // Returns why ranks send data to other ranks from memory of the host; empty: from that of
  // devices.
  const std::map<RankNumber, std::string>& through_host() const { return through_host_; }

 private:
  class End;     // participant for a device of another rank
  class Memory;  // memory with a piece on each device

  RemoteDevice* remote(DeviceIndex device) const { return remotes_[device.value]; }
  void refuse(PeerPath path) const;
  void connect_part(NodeLink& link, std::optional<PeerPath> path);
  void disconnect();
  Message ask(NodeLink& link, Writer call, const std::string& what);

  Backend& backend_;
  GroupParts& parts_;
  const std::uint64_t number_;
  std::vector<GroupMember> members_;
  std::vector<RemoteDevice*> remotes_;  // by device; null: of this rank
  // Links to the ranks that have devices of the group.
  std::vector<std::shared_ptr<NodeLink>> links_;
  PartOfGroup* local_ = nullptr;            // null: no device is of this rank
  std::vector<PeerPath> paths_;             // indexed by sender and receiver
  std::vector<std::unique_ptr<End>> ends_;  // by device; null: of this rank
  std::vector<std::string> notes_;
  std::map<RankNumber, std::string> through_host_;
  Bytes most_shared_ = ~Bytes{0};
  std::uint64_t next_memory_ = 1;
};

}  // namespace mgpu
