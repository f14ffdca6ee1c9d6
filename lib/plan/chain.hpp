// Stages on devices: who does which of a chain of stages that every batch goes through, and how
// long that takes. Pure.
//
// Devices have consecutive stages, in their own order; some may have none. Each does its stages of
// one batch after another, and hands each batch to the next device. So the slowest device says how
// often a batch comes out at the end, and the first batch has to go through all of them: n batches
// take the sum of all devices' times and n - 1 times the longest. Two batches between two devices
// are enough for that, as each device takes as long for one batch as for the other.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "lib/plan/simulator.hpp"

namespace mgpu {

// Seconds of a round on device `device` with the stages of `part`, where `next` is the device that
// goes on; none: nobody does, or the part is the end. What goes up to a device that has the first
// stage and down from one that has the last comes at the same time as kernels.
double seconds_of_part(const PlanRequest& request, std::size_t device, const Slice& part,
                       std::optional<std::size_t> next);

// Seconds of so many batches, of one each device takes so long for: 0 for those that have no stage.
double seconds_of_batches(std::span<const double> each, std::uint64_t batches);

// Stages by device, of least time for request.rounds batches; where several are as good, the one
// whose slowest device takes least. Exact: for every time that the slowest device may take, the
// least sum by dynamic programming over devices and stages (contiguous partition of a chain:
// Bokhari, Partitioning problems in parallel, pipelined, and distributed computing, IEEE Trans.
// Computers 37, 1988). O(d s^2) for each of up to d s^2 such times; with many batches the first few
// are enough. Throws Error(unsupported) where no device can take any.
std::vector<Items> balanced_chain(const PlanRequest& request);

// What simulate() says of a chain with these stages by device.
Simulation simulate_chain(const PlanRequest& request, const std::vector<Items>& shares);

}  // namespace mgpu
