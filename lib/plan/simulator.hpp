// Simulator: drives a SliceSource with the estimates of its own request, on a virtual clock. Every
// prediction is made here, with the same source that will run. Pure and fast: `auto` simulates many
// candidates.
#pragma once

#include <optional>
#include <vector>

#include "lib/plan/slice_source.hpp"

namespace mgpu {

struct SimulatedDevice {
  Items items = 0;
  std::size_t slices = 0;
  Nanos busy{};    // total time with any command running
  Nanos finish{};  // end of its collect; 0 if it was given nothing
};

// Time in which a device ran a command. put: into the memory of `peer`; wait: for data from it.
struct SimulatedCommand {
  enum class Kind { upload, compute, download, put, wait } kind = Kind::compute;
  Nanos started{}, ended{};
  Bytes bytes = 0;
  DeviceIndex peer{};                       // for a put or a wait
  std::optional<std::uint32_t> round = {};  // for iterative work
};

// Commands that a device enqueued at once.
struct SimulatedBatch {
  enum class Kind { prepare, slice, collect, merge } kind = Kind::slice;
  DeviceIndex device;
  Slice slice;
  Nanos enqueued{}, finished{};
  std::vector<SimulatedCommand> commands;
};

struct Simulation {
  Nanos makespan{};  // includes the merge
  Nanos merge{};
  // Times in which node 0's link was in use, each way, and time that node 0 took for messages; 0
  // without a network.
  Nanos sending{}, receiving{}, handing_out{};
  std::vector<SimulatedDevice> devices;
};

// Simulates a sample. Its model:
// - As in the executor, each device has two slices in flight and three in-order queues (upload,
//   compute, download), whose times are those of DeviceEstimate.
// - Uploads of all devices share `link_up` (each at most its own `up`, the rest shared fairly at
//   every moment), downloads share `link_down`.
// - A device that took part pays `fixed`, less if some devices did not; the merge follows the last
//   device.
// - Devices that exchange data (lib/plan/exchange.hpp) first upload their parts of the replicated
//   inputs in pieces, put each piece to the others in the compute queue, signal them and wait for
//   them. After each iteration that ends in an exchange, none continues before all have arrived,
//   and its data have. The merge is then what they combine.
// - With a network (lib/plan/network.hpp) commands for devices of other nodes travel in messages,
//   and `link_up` and `link_down` are those of each node.
// Throws Error(usage) if a device's `items_per_s` is not known, and Error(internal) if the source
// never ends. Appends what devices did to `log`, if it is given; nothing for a chain.
Simulation simulate(const PlanRequest& request, SliceSource& source,
                    std::vector<SimulatedBatch>* log = nullptr);

}  // namespace mgpu
