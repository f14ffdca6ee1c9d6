// Memory for the nodes (partial matrices) of a peer group's devices, and the part of the elements
// that each device adds up.
#pragma once

#include <algorithm>
#include <map>
#include <mutex>
#include <span>
#include <vector>

#include "lib/exchange/collective.hpp"
#include "lib/workload/peers.hpp"
#include "suites/common/block_tree.hpp"

namespace mgpu::fisher {

class GramExchange {
 public:
  // `bytes`: size of the nodes of all items, on each device. Throws what PeerGroup::allocate
  // throws.
  GramExchange(PeerGroup& group, Bytes bytes) : group_(group), nodes_(group.allocate(bytes)) {}

  SharedMemory& nodes() { return *nodes_; }
  Peer& peer(DeviceIndex device) { return group_.peer(device); }  // only while there are members

  // Sets the devices that share the sample that begins.
  void begin(std::span<const DeviceIndex> members) {
    members_.assign(members.begin(), members.end());
    of_devices_.clear();
  }
  std::span<const DeviceIndex> members() const { return members_; }
  // Returns whether the nodes of this device stay there until all members have made theirs.
  bool combines(DeviceIndex device) const {
    return members_.size() > 1 &&
           std::find(members_.begin(), members_.end(), device) != members_.end();
  }
  // Returns the part of a matrix's `triangle` elements that a member adds up.
  Part part(DeviceIndex member, std::uint64_t triangle) const {
    const auto at = std::find(members_.begin(), members_.end(), member) - members_.begin();
    return part_of(triangle, Element::f64, members_.size(), static_cast<std::size_t>(at));
  }

  // Saves the nodes that a device made in this sample. Thread-safe. all_nodes() is complete when
  // all devices have done so.
  void set_nodes(DeviceIndex device, std::vector<block_tree::TreeNode> nodes) {
    const std::scoped_lock lock(mutex_);
    of_devices_[device] = std::move(nodes);
  }
  std::vector<block_tree::TreeNode> all_nodes() {
    const std::scoped_lock lock(mutex_);
    std::vector<block_tree::TreeNode> all;
    for (const auto& [device, nodes] : of_devices_)
      all.insert(all.end(), nodes.begin(), nodes.end());
    return all;
  }

 private:
  PeerGroup& group_;
  std::unique_ptr<SharedMemory> nodes_;
  std::vector<DeviceIndex> members_;
  std::mutex mutex_;
  std::map<DeviceIndex, std::vector<block_tree::TreeNode>> of_devices_;
};

}  // namespace mgpu::fisher
