// Converts what the executor recorded of one execution of a probe into times of queues.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "lib/exec/sample.hpp"

namespace mgpu {

// Times of one execution; vectors have an element per device.
struct Execution {
  std::vector<std::array<Nanos, 3>> stages;  // of the first slice, by CommandKind
  std::vector<std::array<Bytes, 3>> bytes;   // of the first slice, by CommandKind
  // Sums over the commands of all slices, by CommandKind.
  std::vector<std::array<Nanos, 3>> copying;
  // Sums over the commands of all slices, by CommandKind.
  std::vector<std::array<Bytes, 3>> copied;
  std::vector<std::vector<Nanos>> kernels;  // single kernels of the first slice
  // All kernels of the second slice: other slices are copied meanwhile.
  std::vector<Nanos> contended;
  std::vector<Nanos> collecting;  // kernels after all slices
  // Uploads before the first slice, on the device where they took longest.
  Nanos replicated{};
  // A download after all slices, on the device where it took longest.
  Nanos bringing{};
  // Time of the sample beyond the stages of the longest first slice, including waits between them.
  Nanos rest{};
  // Part of `rest`: enqueue_delay_in() of the device that finished last.
  Nanos enqueue_delay{};
  std::vector<Nanos> finished;  // end of its last slice, as the host saw it
  Nanos afterwards{};           // time of the sample after all slices had finished
};

// Reads a sample in which `devices` devices took part.
Execution read_execution(const RawSample& sample, std::size_t devices);

// Scales the times to `times` as many iterations of all slices.
void stretch(Execution& execution, double times);

// Returns the time from the first kernel's start to the last one's end, without the gaps in which
// kernels wait for uploads of their own slice (msm sorts scalars while points are uploaded): those
// gaps vanish behind another slice's kernels.
Nanos kernels_of(const RawBatch& batch);

// Returns how long a device, once it had begun, was idle because the host had not yet enqueued the
// next command: before the first kernel of slice 0, and before collecting. `batches` are of a
// sample with one slice per device.
Nanos enqueue_delay_in(std::span<const RawBatch> batches, DeviceIndex device);

}  // namespace mgpu
