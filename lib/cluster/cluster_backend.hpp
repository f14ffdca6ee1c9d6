// The devices of all ranks as one backend, for rank 0.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lib/cluster/group_parts.hpp"
#include "lib/cluster/node_link.hpp"
#include "lib/cluster/share_out.hpp"
#include "lib/exec/backend.hpp"

namespace mgpu {

class ClusterBackend final : public Backend {
 public:
  // `local`, `post`, `parts` and `links` must outlive it; `links` is indexed by rank, with null for
  // rank 0.
  ClusterBackend(Backend& local, Post& post, GroupParts& parts,
                 std::vector<std::shared_ptr<NodeLink>> links, std::string own_host);

  // Throws Error(usage) if ranks have different drivers.
  Enumeration enumerate() override;
  std::vector<Device> split(const Device& device, unsigned parts) override;
  using Backend::open;
  std::unique_ptr<OpenDevice> open(const Device& device, const Handicap& handicap) override;
  // Pins memory for devices of this rank only, as data for other ranks goes through messages.
  std::unique_ptr<PinnedMemory> pin(std::span<const std::byte> memory,
                                    std::span<OpenDevice* const> devices) override;
  // Connects devices; a pair of devices of different ranks is staged.
  std::unique_ptr<PeerGroup> connect(std::span<OpenDevice* const> devices,
                                     std::optional<PeerPath> path) override;
  Nanos now() override { return local_.now(); }
  bool is_virtual() const override { return local_.is_virtual(); }
  bool advance(std::optional<Nanos> limit) override { return local_.advance(limit); }
  void limit_waits(WaitLimits limits) override;
  std::optional<ClusterRecord> cluster() override;

 private:
  bool is_local(OpenDevice* device) const;
  std::vector<Device> parts_of(RankNumber rank, const std::string& id, unsigned parts);
  std::optional<ClockOffset> offset_to(NodeLink& link);

  Backend& local_;
  Post& post_;
  GroupParts& parts_;
  std::vector<std::shared_ptr<NodeLink>> links_;
  std::string own_host_;
  std::vector<OwnedDevice> devices_;               // devices of the last enumeration
  std::vector<std::optional<ClockOffset>> began_;  // clock offsets at the start, by rank
  std::uint64_t next_group_ = 1;
  // Why ranks send data of exchanges from memory of their hosts; empty: from that of devices. Of
  // the latest group; without ranks that exchanged nothing with others.
  std::map<RankNumber, std::string> through_host_;
};

}  // namespace mgpu
