// PeerLinks: what each ordered pair of devices of a set carries when devices exchange data.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "lib/base/units.hpp"

namespace mgpu {

// PeerPath: how data gets from one device to another.

enum class PeerPath {
  direct,  // a device's kernels and copies write into the other's memory, over the link between
           // them
  staged,  // down into pinned host memory and up again, in pieces, both ways at once
  host,    // both work in host memory: a copy there
};

// "direct", "staged", "host": as options name them, as printed and as in JSON.
constexpr std::string_view to_string(PeerPath path) {
  return path == PeerPath::direct ? "direct" : path == PeerPath::staged ? "staged" : "host";
}

struct PeerLink {
  PeerPath path = PeerPath::direct;
  double bytes_per_s = 0;  // of large copies, while as much goes the other way; 0: no limit
  Nanos latency{};         // of an exchange of nothing, and of each copy
  bool operator==(const PeerLink&) const = default;
};

class PeerLinks {
 public:
  PeerLinks() = default;  // of nobody
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

  // Of some of the devices, in that order.
  PeerLinks among(std::span<const std::size_t> some) const {
    PeerLinks links(some.size());
    for (std::size_t i = 0; i < some.size(); ++i)
      for (std::size_t k = 0; k < some.size(); ++k) links.of(i, k) = of(some[i], some[k]);
    return links;
  }

  bool operator==(const PeerLinks&) const = default;

 private:
  std::size_t devices_ = 0;
  std::vector<PeerLink> links_;  // of a device with itself: without limit
};

}  // namespace mgpu
