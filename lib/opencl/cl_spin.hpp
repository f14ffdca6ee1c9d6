// Delay kernel: keeps a device's compute queue busy for a given time by counting. Unlike a stall it
// needs no host while it runs: a queue goes on a microsecond after it, whereas commands behind a
// stall came 60 to 100 us late on an H200. But its length must be known when it is enqueued.
#pragma once

#include <algorithm>
#include <functional>

#include "lib/base/units.hpp"
#include "lib/opencl/cl_common.hpp"

namespace mgpu {

class ClSpin {
 public:
  static constexpr std::string_view kFile = "spin.cl";
  // Longest spin: desktops reset GPUs on which a kernel takes seconds.
  static constexpr Nanos kLongest = std::chrono::milliseconds(50);

  bool ready() const { return kernel_() != nullptr; }
  // Measures how fast the device counts, which takes some milliseconds. `wait` returns when an
  // event's command is complete. Throws cl::Error and what `wait` throws.
  void open(const cl::Context& context, const cl::CommandQueue& queue, const cl::Program& program,
            const std::function<void(const cl::Event&)>& wait);
  // Returns the time that a spin takes besides counting, the gap before it included; no spin is
  // shorter.
  Nanos overhead() const { return overhead_; }
  // Enqueues a spin that counts for `counted`. Throws cl::Error.
  cl::Event add(const cl::CommandQueue& queue, Nanos counted);
  // Updates the overhead from a spin that counted for `counted` and ended `took` after the command
  // before it.
  void learn(Nanos counted, Nanos took) {
    overhead_ += (std::max(Nanos{}, took - counted) - overhead_) / 4;
  }

 private:
  cl::Event count(const cl::CommandQueue& queue, cl_uint loops);

  cl::Kernel kernel_;
  cl::Buffer out_;
  double loops_per_ns_ = 0;
  Nanos overhead_{};
};

}  // namespace mgpu
