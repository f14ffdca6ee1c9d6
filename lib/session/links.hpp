// Measures what can be moved between the host and the devices of a set, and between these: matrices of pairs, latencies,
// collectives.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "lib/exchange/collective.hpp"
#include "lib/exec/backend.hpp"
#include "lib/report/links_record.hpp"

namespace mgpu {

struct LinkOptions {
  std::optional<PeerPath> peer;         // none: the best that each pair has
  bool pairs = true;                    // the matrices, and latencies
  Bytes pair_bytes = Bytes{256} << 20;  // that a pair moves at a time
  std::vector<Collective> collectives;  // none: no collective is measured
  std::vector<Bytes> sizes;             // of a collective's elements; rounded down to whole ones
  std::vector<std::size_t> counts;      // of devices: the first so many; each 2 at least, unless there is but one device
  Element element = Element::f32;
  Reduction reduction = Reduction::sum;
  unsigned repetitions = 10;
};

// Devices, paths and figures of the record are filled in; what else describes the run is the caller's. `progress` is told what is
// measured next. Data of collectives are compared element by element with what they have to be, before and after the calls that
// are timed; a row with a wrong one has no times. Throws Error(unsupported) for a path that a pair does not have, Error(device)
// and Error(timeout) that name the device, Error(out_of_memory), Error(interrupted).
void measure_links(Backend& backend, std::span<const std::unique_ptr<OpenDevice>> devices, const LinkOptions& options,
                   LinksRecord& record, const std::function<void(const std::string&)>& progress);

}  // namespace mgpu
