// PeerLinks: path, bandwidth and latency of each ordered pair of devices that exchange data.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "lib/base/units.hpp"

namespace mgpu {

// PeerPath: how data gets from one device to another.

enum class PeerPath {
  // Kernels and copies of a device write into the other's memory over the link between them.
  direct,
  staged,  // down into pinned host memory and up again, in pieces, both ways at once
  host,    // both devices work in host memory, where the data are copied
};

// Returns "direct", "staged" or "host", the names in options, in print and in JSON.
constexpr std::string_view to_string(PeerPath path) {
  return path == PeerPath::direct ? "direct" : path == PeerPath::staged ? "staged" : "host";
}

struct PeerLink {
  PeerPath path = PeerPath::direct;
  double bytes_per_s = 0;  // of large copies, each way while both are in use; 0: no limit
  Nanos latency{};         // time of an empty exchange, and added to each copy
  bool operator==(const PeerLink&) const = default;
};

class PeerLinks {
 public:
  PeerLinks() = default;
  explicit PeerLinks(std::size_t devices, const PeerLink& each = {})
      : devices_(devices), links_(devices * devices, each) {
    for (std::size_t i = 0; i < devices; ++i) of(i, i) = {};
  }

  bool empty() const { return devices_ == 0; }
  std::size_t devices() const { return devices_; }
  const PeerLink& of(std::size_t from, std::size_t to) const {
    return links_[from * devices_ + to];
  }
  PeerLink& of(std::size_t from, std::size_t to) { return links_[from * devices_ + to]; }

  // Returns the links among some of the devices, in the order of `some`.
  PeerLinks among(std::span<const std::size_t> some) const {
    PeerLinks links(some.size());
    for (std::size_t i = 0; i < some.size(); ++i)
      for (std::size_t k = 0; k < some.size(); ++k) links.of(i, k) = of(some[i], some[k]);
    return links;
  }

  bool operator==(const PeerLinks&) const = default;

 private:
  std::size_t devices_ = 0;
  std::vector<PeerLink> links_;  // row-major, from x to; no limit from a device to itself
};

}  // namespace mgpu
