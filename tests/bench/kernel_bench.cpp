// Cost per slice of the harness of suite kernel: saxpy in N slices on the first device, by the
// executor and by a bare loop of OpenCL calls that enqueues the same launches. us_a_slice is the
// time per slice of that loop, or of the executor's sample.
#include <benchmark/benchmark.h>

#include <CL/opencl.hpp>
#include <fstream>
#include <sstream>

#include "lib/base/embedded.hpp"
#include "lib/opencl/cl_backend.hpp"
#include "suites/suites.hpp"
#include "tests/bench/failure.hpp"
#include "tests/bench/resident.hpp"

namespace {

using namespace mgpu;
using namespace mgpu::bench;

constexpr std::uint64_t kItems = 1 << 20;

const SuiteInfo& kernel_info() {
  for (const SuiteInfo& suite : all_suites()) {
    if (suite.name == "kernel") return suite;
  }
  throw Error(ErrorKind::internal, "there is no suite kernel");
}

void report(benchmark::State& state, double seconds_in_all) {
  const auto slices = static_cast<double>(state.range(0)) * static_cast<double>(state.iterations());
  state.counters["us_a_slice"] = seconds_in_all * 1e6 / slices;
}

void BM_kernel_slices_harness(benchmark::State& state) {
  try {
    const std::unique_ptr<Backend> backend = make_cl_backend({embedded_kernels(), {}});
    const std::vector<Device> devices = backend->enumerate().devices;
    if (devices.empty()) return fail(state, "there is no OpenCL device");
    SuiteParams params;
    params.size = kItems;
    params.options = {{"kernel", "saxpy"}, {"set", "none"}, {"guards", "off"}};
    Resident resident(*backend, devices.front(), kernel_info().make(params));
    const std::string strategy = "dynamic:chunks=" + std::to_string(state.range(0));
    resident.sample(strategy);
    double all = 0;
    for (auto _ : state) {
      const double took = seconds(resident.sample(strategy));
      all += took;
      state.SetIterationTime(took);
    }
    if (!resident.right()) return fail(state, "wrong result");
    report(state, all);
  } catch (const std::exception& error) {
    fail(state, error.what());
  }
}

// Returns the device that the harness lists first: on the same platform, at the same position.
cl::Device first_device() {
  const std::vector<Device> found = make_cl_backend({embedded_kernels(), {}})->enumerate().devices;
  if (found.empty()) throw Error(ErrorKind::no_device, "there is no OpenCL device");
  std::vector<cl::Platform> platforms;
  std::vector<cl::Device> devices;
  cl::Platform::get(&platforms);
  for (const cl::Platform& platform : platforms) {
    platform.getDevices(CL_DEVICE_TYPE_ALL, &devices);
    for (const cl::Device& device : devices)
      if (device.getInfo<CL_DEVICE_NAME>() == found.front().name) return device;
  }
  throw Error(ErrorKind::internal, "OpenCL has no device named " + found.front().name);
}

// Enqueues arguments, a launch with its event and a flush, with at most two slices in flight, as
// the executor does in addition to its own work.
void BM_kernel_slices_bare(benchmark::State& state) {
  try {
    const cl::Device device = first_device();
    const cl::Context context(device);
    cl::CommandQueue queue(context, device, CL_QUEUE_PROFILING_ENABLE);
    std::ifstream file(MGPU_SOURCE_DIR "/suites/kernel/examples/saxpy/saxpy.cl");
    std::ostringstream text;
    text << file.rdbuf();
    cl::Program program(context, text.str(), true);
    cl::Kernel kernel(program, "saxpy");
    cl::Buffer buffers[3];
    for (cl::Buffer& buffer : buffers) {
      buffer = cl::Buffer(context, CL_MEM_READ_WRITE, kItems * sizeof(float));
      queue.enqueueFillBuffer(buffer, 0.0F, 0, kItems * sizeof(float));
    }
    const auto slices = static_cast<std::size_t>(state.range(0));
    const std::size_t size = kItems / slices;
    const auto whole = [&] {
      cl::Event in_flight[2];
      for (std::size_t i = 0; i < slices; ++i) {
        for (cl_uint a = 0; a < 3; ++a) kernel.setArg(a, buffers[a]);
        kernel.setArg(3, 2.5F);
        cl::Event& event = in_flight[i % 2];
        if (event() != nullptr) event.wait();
        queue.enqueueNDRangeKernel(kernel, cl::NDRange(i * size), cl::NDRange(size), cl::NullRange,
                                   nullptr, &event);
        queue.flush();
      }
      queue.finish();
    };
    whole();
    double all = 0;
    for (auto _ : state) {
      const auto begin = std::chrono::steady_clock::now();
      whole();
      const double took =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      all += took;
      state.SetIterationTime(took);
    }
    report(state, all);
  } catch (const std::exception& error) {
    fail(state, error.what());
  }
}

BENCHMARK(BM_kernel_slices_harness)
    ->ArgName("slices")
    ->Arg(64)
    ->Arg(1024)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(BM_kernel_slices_bare)
    ->ArgName("slices")
    ->Arg(64)
    ->Arg(1024)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
