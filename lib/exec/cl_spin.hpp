// Keeps a device's compute queue busy for a stated time with a kernel that does nothing but count. Unlike a hold it needs no host
// while it runs: a queue goes on a microsecond after it, where after a hold of an H200 what was enqueued behind it came 60 to 100
// us late. But how long it shall take must be known when it is enqueued.
#pragma once

#include "lib/base/units.hpp"
#include "lib/exec/cl_common.hpp"

namespace mgpu {

class ClSpin {
 public:
  static constexpr std::string_view kFile = "spin.cl";
  static constexpr Nanos kLongest = std::chrono::milliseconds(50);  // desktops reset GPUs whose kernel takes seconds

  bool ready() const { return kernel_() != nullptr; }
  // Measures how fast the device counts; takes some milliseconds. Throws cl::Error.
  void open(const cl::Context& context, const cl::CommandQueue& queue, const cl::Program& program);
  // Throws cl::Error.
  cl::Event add(const cl::CommandQueue& queue, Nanos time);
  // What was to take `asked` took `took`, from the end of what was before it: what comes next is corrected for half of the
  // difference.
  void learn(Nanos asked, Nanos took) { bias_ += (took - asked) / 2; }

 private:
  cl::Event count(const cl::CommandQueue& queue, cl_uint loops);

  cl::Kernel kernel_;
  cl::Buffer out_;
  double loops_per_ns_ = 0;
  Nanos bias_{};  // by which it takes longer than it counts
};

}  // namespace mgpu
