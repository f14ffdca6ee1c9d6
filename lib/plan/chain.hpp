// Partitions a chain of stages, which every batch goes through, over devices, and predicts its
// time. Pure.
//
// Devices have consecutive stages, in their own order; some may have none. Each device does its
// stages for one batch after another, and hands each batch to the next device. So the slowest
// device limits the throughput, and the first batch has to go through all devices: n batches take
// the sum of all devices' times and n - 1 times the longest. Two batches between two devices are
// enough for that, as each device takes the same time for every batch.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "lib/plan/simulator.hpp"

namespace mgpu {

// Returns the seconds per batch of device `device` with the stages of `part`. `next` is the device
// that continues; none: there is none, or the part is the end. Uploads of a device with the first
// stage and downloads of one with the last stage overlap with kernels.
double seconds_of_part(const PlanRequest& request, std::size_t device, const Slice& part,
                       std::optional<std::size_t> next);

// Returns the seconds of `batches` batches. `each` has every device's seconds per batch; 0 if it
// has no stage.
double seconds_of_batches(std::span<const double> each, std::uint64_t batches);

// Returns the number of stages per device, of least time for request.rounds batches; among equals,
// the one whose slowest device takes least. Exact: for every time that the slowest device may take,
// it finds the least sum by dynamic programming over devices and stages (contiguous partition of a
// chain: Bokhari, Partitioning problems in parallel, pipelined, and distributed computing, IEEE
// Trans. Computers 37, 1988). O(d s^2) for each of up to d s^2 such times; with many batches the
// first few are enough. Throws Error(unsupported) if no device can take any stage.
std::vector<Items> balanced_chain(const PlanRequest& request);

// Returns the result of simulate() for a chain with these numbers of stages per device.
Simulation simulate_chain(const PlanRequest& request, const std::vector<Items>& shares);

}  // namespace mgpu
