// `links` from top to bottom: opens devices, connects them over each path that is of interest, and
// measures.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lib/device/device.hpp"
#include "lib/exchange/collective.hpp"
#include "lib/exec/backend.hpp"
#include "lib/report/links_record.hpp"

namespace mgpu {

struct LinksOptions {
  std::vector<Device> devices;
  std::optional<PeerPath> path;            // of every pair; none: the best that each has
  bool matrices = true;                    // and latencies
  std::vector<Collective> ops;             // none: no collectives
  std::vector<Bytes> sizes;                // empty: a few
  std::vector<std::size_t> device_counts;  // of collectives: the first so many; empty: all
  Element element = Element::f32;
  Reduction reduction = Reduction::sum;
  bool quick = false;
};

// Fills in what is measured as it goes: what is there when it throws was measured. `progress` is
// told what comes next. Throws Error(unsupported) where a pair lacks the path asked for or a device
// has no such elements, Error(out_of_memory), Error(device), Error(timeout), Error(interrupted).
void measure_links(Backend& backend, const LinksOptions& options, LinksReport& report,
                   const std::function<void(const std::string&)>& progress);

}  // namespace mgpu
