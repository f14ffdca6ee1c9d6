// Host time of a call that enqueues a tiny kernel: on a bare queue, and on one with profiling and
// an event per command. Under lib/layer (its README has the variables) the bare queue shows what
// the layer adds; without it, the second shows what the driver's own profiling costs.
#include <benchmark/benchmark.h>

#include <CL/opencl.hpp>
#include <chrono>

#include "tests/bench/failure.hpp"

namespace {

using mgpu::bench::fail;

void BM_enqueue(benchmark::State& state) {
  try {
    const bool profiling = state.range(0) != 0;
    const cl::Device device = cl::Device::getDefault();
    const cl::Context context(device);
    const cl::CommandQueue queue(context, device, profiling ? CL_QUEUE_PROFILING_ENABLE : 0);
    cl::Program program(context, "kernel void one(global int* a) { a[get_global_id(0)] += 1; }");
    program.build();
    cl::Kernel kernel(program, "one");
    const cl::Buffer buffer(context, CL_MEM_READ_WRITE, 64);
    kernel.setArg(0, buffer);
    const std::size_t one = 1;
    constexpr int kCommands = 500;
    queue.enqueueNDRangeKernel(kernel, cl::NullRange, one, one);  // compiles it
    queue.finish();
    double all = 0;
    for (auto _ : state) {
      const auto begin = std::chrono::steady_clock::now();
      for (int c = 0; c < kCommands; ++c) {
        cl_event event = nullptr;
        clEnqueueNDRangeKernel(queue(), kernel(), 1, nullptr, &one, &one, 0, nullptr,
                               profiling ? &event : nullptr);
        if (profiling) clReleaseEvent(event);
      }
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
      queue.finish();
      all += took.count();
      state.SetIterationTime(took.count());
    }
    state.counters["us_a_command"] =
        all * 1e6 / (kCommands * static_cast<double>(state.iterations()));
  } catch (const std::exception& error) {
    fail(state, error.what());
  }
}
BENCHMARK(BM_enqueue)->ArgName("profiling")->Arg(0)->Arg(1)->UseManualTime();

}  // namespace
