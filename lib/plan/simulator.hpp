// Simulator: a SliceSource driven with the estimates of its own request, on a clock of its own.
// Every prediction is made here, by the same source that will run. Pure and fast: `auto` asks it
// for many candidates.
#pragma once

#include <optional>
#include <vector>

#include "lib/plan/slice_source.hpp"

namespace mgpu {

struct SimulatedDevice {
  Items items = 0;
  std::size_t slices = 0;
  Nanos busy{};    // union of its commands
  Nanos finish{};  // end of its collect; 0 when it was given nothing
};

// Says when a device ran a command. put: into the memory of `peer`; wait: for data from it.
struct SimulatedCommand {
  enum class Kind { upload, compute, download, put, wait } kind = Kind::compute;
  Nanos started{}, ended{};
  Bytes bytes = 0;
  DeviceIndex peer{};                       // of a put or a wait
  std::optional<std::uint32_t> round = {};  // of work that goes in rounds
};

// Has the commands that a device enqueued at once.
struct SimulatedBatch {
  enum class Kind { prepare, slice, collect, merge } kind = Kind::slice;
  DeviceIndex device;
  Slice slice;
  Nanos enqueued{}, finished{};
  std::vector<SimulatedCommand> commands;
};

struct Simulation {
  Nanos makespan{};  // merge included
  Nanos merge{};
  Nanos sending{}, receiving{}, handing_out{};  // with a network: how long node 0's link carried
                                                // something, and its messages took it
  std::vector<SimulatedDevice> devices;
};

// The model: as the executor does it, two slices in flight per device; three in-order queues
// (upload, compute, download) whose times are those of DeviceEstimate; uploads of all devices share
// `link_up` (each at most its own `up`, the rest shared fairly at every moment), downloads
// `link_down`; a device that took part pays `fixed`, less where others did not; the merge follows
// the last one. Where devices exchange data (lib/plan/exchange.hpp), each of them first uploads its
// part of the replicated inputs in pieces, puts each piece to the others in its compute queue,
// signals them and waits for them; after each round that ends in an exchange none goes on before
// all have come, and what is sent to it has arrived; and the merge is what they combine. With a
// network (lib/plan/network.hpp) devices of other nodes are told in messages, and `link_up`,
// `link_down` are those of each node. Every device's `items_per_s` must be known: Error(usage)
// otherwise. Error(internal) when the source never ends. `log`, where it is given, is appended what
// devices did; nothing of a chain.
Simulation simulate(const PlanRequest& request, SliceSource& source,
                    std::vector<SimulatedBatch>* log = nullptr);

}  // namespace mgpu
