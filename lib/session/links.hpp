// Implements `links`: opens devices, connects them over each relevant path, and measures.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lib/device/device.hpp"
#include "lib/exchange/collective.hpp"
#include "lib/exec/backend.hpp"
#include "lib/report/record.hpp"

namespace mgpu {

struct LinksOptions {
  std::vector<Device> devices;
  std::optional<PeerPath> path;  // path of every pair; none: the best of each pair
  bool matrices = true;
  bool latencies = true;                   // if there are matrices
  bool unused_paths = true;                // matrices also of the staged path if it is not used
  std::vector<Collective> ops;             // empty: no collectives
  std::vector<Bytes> sizes;                // empty: a few default sizes
  std::vector<std::size_t> device_counts;  // numbers of devices for collectives; empty: all
  Element element = Element::f32;
  Reduction reduction = Reduction::sum;
  bool quick = false;
};

// Measures, and adds each result to the report at once: after an exception it has what was measured
// before. `progress` is told each next step. Throws Error(unsupported) if a pair lacks the path
// asked for or a device lacks the element type, Error(out_of_memory), Error(device),
// Error(timeout), Error(interrupted).
void measure_links(Backend& backend, const LinksOptions& options, Report& report,
                   const std::function<void(const std::string&)>& progress);

}  // namespace mgpu
