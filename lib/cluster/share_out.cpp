#include "lib/cluster/share_out.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include "lib/base/quote.hpp"
#include "lib/device/score.hpp"

namespace mgpu {
namespace {

// Returns whether two devices of one host are the same hardware. The UUID of a PoCL CPU is shared
// by all CPUs of its kind, so it is not used.
bool is_same(const Device& a, const Device& b) {
  if (a.is_cpu() != b.is_cpu()) return false;
  if (a.is_cpu()) return a.platform == b.platform && a.name == b.name && a.id == b.id;
  if (a.uuid && b.uuid) return a.uuid == b.uuid;
  if (a.pci && b.pci) return a.pci == b.pci;
  return a.platform == b.platform && a.name == b.name && a.id == b.id;
}

struct Seen {
  Device device;                                       // as the first rank sees it
  std::vector<std::pair<RankNumber, std::string>> by;  // ranks, and the ids that they use
};

std::string in_words(const std::vector<RankNumber>& ranks) {
  return fmt::format("{}", fmt::join(ranks, ", "));
}

}  // namespace

std::string global_id(RankNumber rank, const std::string& id) {
  return rank == 0 ? id : fmt::format("{}/{}", rank, id);
}

LocalId local_id(const std::string& global) {
  const std::size_t slash = global.find('/');
  if (slash == std::string::npos) return {0, global};
  LocalId local{0, global.substr(slash + 1)};
  std::from_chars(global.data(), global.data() + slash, local.rank);
  return local;
}

SharedOut share_out(const std::vector<RankDevices>& ranks) {
  SharedOut out;
  std::map<std::string, std::vector<RankNumber>> hosts;
  for (RankNumber rank = 0; rank < ranks.size(); ++rank) hosts[ranks[rank].host].push_back(rank);
  for (const auto& [host, its_ranks] : hosts) {
    std::vector<Seen> seen;
    for (const RankNumber rank : its_ranks) {
      for (const Device& device : ranks[rank].devices) {
        const auto same = [&](const Seen& one) {
          return is_same(one.device, device) &&
                 std::none_of(one.by.begin(), one.by.end(),
                              [&](const auto& who) { return who.first == rank; });
        };
        auto at = std::find_if(seen.begin(), seen.end(), same);
        if (at == seen.end()) at = seen.insert(seen.end(), {device, {}});
        at->by.emplace_back(rank, device.id);
      }
    }
    std::map<std::pair<RankNumber, DeviceType>, std::size_t> has;
    bool shares = false;
    for (const Seen& one : seen) {
      const auto& [owner, id] =
          *std::min_element(one.by.begin(), one.by.end(), [&](const auto& a, const auto& b) {
            return has[{a.first, one.device.type}] < has[{b.first, one.device.type}];
          });
      ++has[{owner, one.device.type}];
      OwnedDevice& owned = out.devices.emplace_back();
      owned.owner = owner;
      owned.device = one.device;
      owned.device.id = global_id(owner, id);
      owned.device.node = DeviceNode{owner, host};
      for (const auto& who : one.by) owned.holders.push_back(who.first);
      shares |= owned.holders.size() > 1;
    }
    if (shares)
      out.notes.push_back(
          fmt::format("ranks {} are on one host, {}: its devices, and the parts of a CPU, are "
                      "shared out among them",
                      in_words(its_ranks), host));
    for (const RankNumber rank : its_ranks)
      if (ranks[rank].devices.empty())
        out.notes.push_back(fmt::format("rank {} on {} sees no device", rank, host));
  }
  std::stable_sort(out.devices.begin(), out.devices.end(),
                   [](const OwnedDevice& a, const OwnedDevice& b) {
                     if (ranks_before(a.device, b.device)) return true;
                     return !ranks_before(b.device, a.device) && a.owner < b.owner;
                   });
  return out;
}

std::string difference(const Fingerprint& first, const Fingerprint& other) {
  if (first.version != other.version)
    return fmt::format("version {} on {} and {} on {}", first.version, first.host, other.version,
                       other.host);
  if (first.program != other.program)
    return fmt::format("the program on {} is {} and on {} {}: not the same build", first.host,
                       first.program, other.host, other.program);
  if (first.arguments != other.arguments)
    return fmt::format("arguments {} and {}", in_quotes(first.arguments),
                       in_quotes(other.arguments));
  return {};
}

std::string driver_difference(const RankDevices& first, const RankDevices& other) {
  for (const Device& a : first.devices) {
    for (const Device& b : other.devices) {
      if (a.platform != b.platform || a.is_cpu() != b.is_cpu()) continue;
      if (a.driver_version == b.driver_version && a.platform_version == b.platform_version)
        continue;
      return fmt::format("{}: driver {} ({}) on {} and {} ({}) on {}", a.platform, a.driver_version,
                         a.platform_version, first.host, b.driver_version, b.platform_version,
                         other.host);
    }
  }
  return {};
}

}  // namespace mgpu
