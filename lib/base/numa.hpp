// NUMA nodes of the host: which one a PCI device is attached to, and threads and memory near it.
// Knows nothing on other systems than Linux, and then binds nothing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace mgpu {

// Returns the node of the PCI device "0000:1a:00.0"; none if the host has one node only, or if it
// does not say (-1, as in many virtual machines). `root` contains sys.
std::optional<std::uint32_t> numa_node_of(const std::string& pci,
                                          const std::filesystem::path& root = "/");
// Returns the cores of a node, in order; empty if they are not known.
std::vector<std::uint32_t> cpus_of_node(std::uint32_t node,
                                        const std::filesystem::path& root = "/");

// Binds the calling thread to cores, and unbinds it at the end. The cores that the process may use,
// as limited by taskset, stay the limit. Threads that a bound thread starts are bound, too.
class CpuBinding {
 public:
  CpuBinding() = default;
  ~CpuBinding() { to({}); }
  CpuBinding(const CpuBinding&) = delete;
  CpuBinding& operator=(const CpuBinding&) = delete;

  // Binds to those of `cpus` that the process may use. To all that it may use, if that leaves none.
  // Costs nothing if the thread is bound to `cpus` already.
  void to(const std::vector<std::uint32_t>& cpus);

 private:
  std::vector<std::uint32_t> cpus_;  // empty: not bound
};

// Undoes for a thread what it inherited from a bound one.
void unbind_inherited();

// Makes the calling thread's new memory come from a node, if there is room, until the end. Does
// nothing if the user has chosen a policy, as with numactl.
class PreferredNode {
 public:
  explicit PreferredNode(std::optional<std::uint32_t> node);
  ~PreferredNode();
  PreferredNode(const PreferredNode&) = delete;
  PreferredNode& operator=(const PreferredNode&) = delete;

 private:
  bool set_ = false;
};

}  // namespace mgpu
