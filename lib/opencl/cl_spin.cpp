#include "lib/opencl/cl_spin.hpp"

#include <cmath>

namespace mgpu {
namespace {

double length_ns(const cl::Event& event) {
  return static_cast<double>(event.getProfilingInfo<CL_PROFILING_COMMAND_END>() -
                             event.getProfilingInfo<CL_PROFILING_COMMAND_START>());
}

}  // namespace

cl::Event ClSpin::count(const cl::CommandQueue& queue, cl_uint loops) {
  cl::Event event;
  kernel_.setArg(1, loops);
  queue.enqueueNDRangeKernel(kernel_, cl::NullRange, cl::NDRange(1), cl::NDRange(1), nullptr,
                             &event);
  return event;
}

void ClSpin::open(const cl::Context& context, const cl::CommandQueue& queue,
                  const cl::Program& program, const std::function<void(const cl::Event&)>& wait) {
  constexpr cl_uint least = 1 << 16, most = 1 << 20;  // 0.5 and 8 ms on an H200
  kernel_ = cl::Kernel(program, "spin");
  out_ = cl::Buffer(context, CL_MEM_READ_WRITE, sizeof(cl_uint));
  kernel_.setArg(0, out_);
  count(queue, most);  // wakes a device that was idle
  const cl::Event short_one = count(queue, least), long_one = count(queue, most);
  queue.flush();
  wait(long_one);  // the queue is in order
  const double difference = length_ns(long_one) - length_ns(short_one);
  loops_per_ns_ = difference > 0 ? (most - least) / difference : 1;
  overhead_ = std::chrono::microseconds(5);  // first estimate; learn() updates it
}

cl::Event ClSpin::add(const cl::CommandQueue& queue, Nanos counted) {
  return count(queue, static_cast<cl_uint>(std::llround(
                          std::min(static_cast<double>(counted.count()) * loops_per_ns_, 4e9))));
}

}  // namespace mgpu
