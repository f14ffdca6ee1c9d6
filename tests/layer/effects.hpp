// How the fault layer causes faults with the driver's own calls: it holds back commands and flips
// bits.
#pragma once

#include <cstdint>

#include "tests/layer/objects.hpp"
#include "tests/layer/script.hpp"

namespace fault {

// Blocks the calling thread for the time of the fault; for ever if it is a hang.
void stall(const Fault& fault);

// Delays all commands enqueued after this one until the fault's time has passed; for ever if it is
// a hang. To every driver this is an ordinary command that waits for a user event: status,
// dependants, clFinish and callbacks follow by themselves.
cl_int hold_back(const cl_icd_dispatch& cl, const Place& place, cl_command_queue queue,
                 const Fault& fault);

// Flips a bit in order, after the commands in the queue. `event` may be null.
cl_int flip_bit(const cl_icd_dispatch& cl, const Place& place, cl_command_queue queue,
                cl_mem memory, std::size_t byte, unsigned bit, cl_event* event);

// A rectangle in a buffer as OpenCL's rectangular copies define it.
struct Rectangle {
  const std::size_t* origin;
  const std::size_t* region;
  std::size_t row, slice;  // pitches; 0: rows and slices are contiguous

  std::size_t row_pitch() const { return row != 0 ? row : region[0]; }
  std::size_t slice_pitch() const { return slice != 0 ? slice : row_pitch() * region[1]; }
  std::size_t bytes() const { return region[0] * region[1] * region[2]; }
  std::size_t offset_of(std::size_t byte) const;  // offset of the byte-th byte of the rectangle
  std::size_t end() const { return offset_of(bytes() - 1) + 1; }
};

// Returns a copy of `size` bytes with one bit flipped. It stays until the process ends, because a
// driver may read it at any time.
unsigned char* flipped_copy(const void* from, std::size_t size, std::size_t byte, unsigned bit);

}  // namespace fault
