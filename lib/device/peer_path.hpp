// PeerPath: how data gets from one device to another.
#pragma once

#include <string_view>

namespace mgpu {

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

}  // namespace mgpu
