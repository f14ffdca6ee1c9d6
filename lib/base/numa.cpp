// Reads files that Linux documents (ABI/testing/sysfs-bus-pci, ABI/stable/sysfs-devices-node), and
// calls the system itself, as libnuma would.
#include "lib/base/numa.hpp"

#include "lib/base/small_files.hpp"

#ifdef __linux__
#include <linux/mempolicy.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <climits>

namespace mgpu {
namespace {

namespace fs = std::filesystem;

// Returns the numbers of a list such as "0-3,8,10-11"; empty if it is none.
std::vector<std::uint32_t> numbers_of_list(const std::string& text) {
  constexpr std::uint32_t kMost = 1u << 16;
  std::vector<std::uint32_t> numbers;
  const char *at = text.data(), *const end = at + text.size();
  const auto number = [&](std::uint32_t& value) {
    const auto [stop, bad] = std::from_chars(at, end, value);
    at = stop;
    return bad == std::errc() && value < kMost;
  };
  while (at != end && *at != '\n') {
    std::uint32_t first = 0, last = 0;
    if (!number(first)) return {};
    last = first;
    if (at != end && *at == '-' && (++at, !number(last))) return {};
    for (std::uint32_t k = first; k <= last; ++k) numbers.push_back(k);
    if (at != end && *at == ',') ++at;
  }
  return numbers;
}

fs::path nodes_in(const fs::path& root) { return root / "sys/devices/system/node"; }

#ifdef __linux__
constexpr std::size_t kMostCpus = 8192;
using CpuMask = std::array<cpu_set_t, kMostCpus / CPU_SETSIZE>;

// Returns the cores that the process may use: those of its first thread, which is never bound.
std::optional<CpuMask> cpus_of_process() {
  CpuMask mask{};
  if (sched_getaffinity(getpid(), sizeof mask, mask.data()) != 0) return std::nullopt;
  return mask;
}
#endif

}  // namespace

std::optional<std::uint32_t> numa_node_of(const std::string& pci, const fs::path& root) {
  if (numbers_of_list(small_file(nodes_in(root) / "online")).size() < 2) return std::nullopt;
  std::string address = pci;
  std::transform(address.begin(), address.end(), address.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto node = small_number(root / "sys/bus/pci/devices" / address / "numa_node");
  if (!node || *node < 0) return std::nullopt;
  return static_cast<std::uint32_t>(*node);
}

std::vector<std::uint32_t> cpus_of_node(std::uint32_t node, const fs::path& root) {
  return numbers_of_list(small_file(nodes_in(root) / ("node" + std::to_string(node)) / "cpulist"));
}

void CpuBinding::to(const std::vector<std::uint32_t>& cpus) {
  if (cpus == cpus_) return;
  cpus_ = cpus;
#ifdef __linux__
  const auto allowed = cpus_of_process();
  if (!allowed) return;
  CpuMask mask{};
  std::size_t count = 0;
  for (const std::uint32_t cpu : cpus) {
    if (cpu >= kMostCpus || !CPU_ISSET_S(cpu, sizeof mask, allowed->data())) continue;
    CPU_SET_S(cpu, sizeof mask, mask.data());
    ++count;
  }
  // If the kernel refuses, the thread stays where it is, which is only slower.
  sched_setaffinity(0, sizeof mask, count > 0 ? mask.data() : allowed->data());
#endif
}

void unbind_inherited() {
#ifdef __linux__
  CpuMask mine{};
  const auto allowed = cpus_of_process();
  if (!allowed || sched_getaffinity(0, sizeof mine, mine.data()) != 0) return;
  if (!CPU_EQUAL_S(sizeof mine, mine.data(), allowed->data()))
    sched_setaffinity(0, sizeof mine, allowed->data());
#endif
}

PreferredNode::PreferredNode(std::optional<std::uint32_t> node) {
#ifdef __linux__
  constexpr std::size_t kBits = sizeof(unsigned long) * CHAR_BIT;
  std::array<unsigned long, 1024 / kBits> nodes{};
  int policy = MPOL_DEFAULT;
  if (!node || *node >= nodes.size() * kBits ||
      syscall(SYS_get_mempolicy, &policy, nullptr, 0UL, nullptr, 0UL) != 0 ||
      policy != MPOL_DEFAULT)
    return;
  nodes[*node / kBits] |= 1UL << (*node % kBits);
  set_ = syscall(SYS_set_mempolicy, MPOL_PREFERRED, nodes.data(), nodes.size() * kBits) == 0;
#else
  static_cast<void>(node);
#endif
}

PreferredNode::~PreferredNode() {
#ifdef __linux__
  if (set_) syscall(SYS_set_mempolicy, MPOL_DEFAULT, nullptr, 0UL);
#endif
}

}  // namespace mgpu
