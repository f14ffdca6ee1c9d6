// What the executor recorded of one execution of a probe, as times of queues.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "lib/exec/sample.hpp"

namespace mgpu {

// Of each device unless it says otherwise.
struct Execution {
  std::vector<std::array<Nanos, 3>> stages;   // of the first slice, by CommandKind
  std::vector<std::array<Bytes, 3>> bytes;    // likewise
  std::vector<std::array<Nanos, 3>> copying;  // of all slices, command by command
  std::vector<std::array<Bytes, 3>> copied;   // likewise
  std::vector<std::vector<Nanos>> kernels;    // of the first slice, one by one
  std::vector<Nanos> contended;  // kernels of the second slice, in all: others are copied meanwhile
  std::vector<Nanos> collecting;  // kernels after all slices
  Nanos replicated{};             // uploads before it, on the device that took longest
  Nanos bringing{};               // a download after all slices, likewise
  Nanos rest{};  // of the sample, beyond the stages of the longest first slice: waits between them,
                 // too
  Nanos enqueue_delay{};        // of that: enqueue_delay_in() of the device that finished last
  std::vector<Nanos> finished;  // its last slice, as the host saw it
  Nanos afterwards{};           // what the sample took once all slices had finished
};

// `devices`: how many took part.
Execution read_execution(const RawSample& sample, std::size_t devices);

// As if all of its slices had gone `times` as many rounds.
void stretch(Execution& execution, double times);

// From the first kernel's start to the last one's end, without the gaps in which kernels wait for
// uploads of their own slice (msm sorts scalars while points are on their way): behind another
// slice's kernels nothing is seen of those.
Nanos kernels_of(const RawBatch& batch);

// How long a device, once it had begun, had nothing to do because the host had not yet enqueued
// what came next: before the first kernel of slice 0, and before what collects. `batches`: of a
// sample of one slice each.
Nanos enqueue_delay_in(std::span<const RawBatch> batches, DeviceIndex device);

}  // namespace mgpu
