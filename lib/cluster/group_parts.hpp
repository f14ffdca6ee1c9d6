// A rank's parts of groups of devices that exchange, and of the memory that their devices share.
// Data between ranks goes in messages (parcels), sent straight to the rank of the receiving device.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "lib/cluster/post.hpp"
#include "lib/cluster/wire.hpp"
#include "lib/exec/backend.hpp"
#include "lib/exec/part_of_group.hpp"

namespace mgpu {

// Device of a group, as described to all ranks.
struct GroupMember {
  std::string id;
  RankNumber rank = 0;
  std::uint32_t number = 0;  // number of the open device on its rank
};

// Pieces of shared memory on devices of this rank.
class SharedPart final : public NumberedMemory {
 public:
  SharedPart(std::unique_ptr<SharedMemory> here, std::uint64_t number)
      : here_(std::move(here)), number_(number) {}
  Bytes size() const override { return here_->size(); }
  Buffer& piece(DeviceIndex device) override { return here_->piece(device); }
  Buffer* remote(DeviceIndex by, DeviceIndex of) override { return here_->remote(by, of); }
  std::uint64_t number() const override { return number_; }

 private:
  std::unique_ptr<SharedMemory> here_;
  std::uint64_t number_;
};

class GroupParts {
 public:
  explicit GroupParts(Post& post) : post_(post) {}

  // `devices` has null for those of other ranks. Throws what ConnectsParts::connect_part throws.
  PartOfGroup& connect(std::uint64_t group, Backend& backend, std::span<OpenDevice* const> devices,
                       std::vector<GroupMember> members, std::optional<PeerPath> path);
  // `may_be_in_flight`: devices may still be using the group's memory, which is leaked then.
  void disconnect(std::uint64_t group, bool may_be_in_flight);
  // Throws what PeerGroup::allocate throws.
  std::shared_ptr<SharedPart> allocate(std::uint64_t group, std::uint64_t memory, Bytes size);
  std::shared_ptr<SharedPart> memory(std::uint64_t group, std::uint64_t memory);
  void free(std::uint64_t group, std::uint64_t memory);
  void mark_failed(std::uint64_t group, DeviceIndex device);
  void check(std::uint64_t group, DeviceIndex device);
  DeviceIndex awaited_by(std::uint64_t group, DeviceIndex device);

  // Called by the transport's thread (post.hpp).
  void arrived(std::shared_ptr<const Message> parcel);

 private:
  struct Part {
    bool of_cpus = true;
    std::shared_ptr<PartOfGroup> group;
    std::map<std::uint64_t, std::shared_ptr<SharedPart>> memories;
  };
  std::shared_ptr<PartOfGroup> of(std::uint64_t group);

  Post& post_;
  std::mutex mutex_;  // guards what follows
  std::map<std::uint64_t, Part> parts_;
};

}  // namespace mgpu
