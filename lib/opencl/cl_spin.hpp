// Keeps a device's compute queue busy for a given time with a kernel that does nothing but count.
// Unlike a hold it needs no host while it runs: a queue goes on a microsecond after it, where after
// a hold of an H200 what was enqueued behind it came 60 to 100 us late. But how long it shall take
// must be known when it is enqueued.
#pragma once

#include <algorithm>
#include <functional>

#include "lib/base/units.hpp"
#include "lib/opencl/cl_common.hpp"

namespace mgpu {

class ClSpin {
 public:
  static constexpr std::string_view kFile = "spin.cl";
  static constexpr Nanos kLongest =
      std::chrono::milliseconds(50);  // desktops reset GPUs whose kernel takes seconds

  bool ready() const { return kernel_() != nullptr; }
  // Measures how fast the device counts; takes some milliseconds. `wait` returns when an event's
  // command is complete. Throws cl::Error and what `wait` throws.
  void open(const cl::Context& context, const cl::CommandQueue& queue, const cl::Program& program,
            const std::function<void(const cl::Event&)>& wait);
  // What a spin takes besides counting, the gap before it included: none takes less.
  Nanos overhead() const { return overhead_; }
  // Counts for that long. Throws cl::Error.
  cl::Event add(const cl::CommandQueue& queue, Nanos counted);
  // A spin that counted for so long was over `took` after the end of what was before it.
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
