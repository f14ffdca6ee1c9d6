// The devices of this machine, and one sample of a workload on all of them through the executor:
// what the tests of suites' kernels share.
#pragma once

#include <doctest/doctest.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/embedded.hpp"
#include "lib/exec/cl_backend.hpp"
#include "lib/exec/executor.hpp"
#include "lib/plan/strategy.hpp"
#include "lib/workload/workload.hpp"

namespace mgpu::testing {

// Resources that claim to be a GPU's of no vendor: what is launched on GPUs is run where there is
// none, and what is launched on others' GPUs on an NVIDIA one. `more_options` go to every kernel.
class AsGpu final : public DeviceResources {
 public:
  explicit AsGpu(DeviceResources& real, std::string more_options = "")
      : real_(real), traits_(real.traits()), more_options_(std::move(more_options)) {
    traits_.cpu = traits_.nvidia = false;
  }
  const DeviceTraits& traits() const override { return traits_; }
  std::unique_ptr<Buffer> allocate(Bytes size) override { return real_.allocate(size); }
  std::unique_ptr<Kernel> kernel(std::string_view file, std::string_view entry,
                                 const std::string& options) override {
    return real_.kernel(file, entry, options + more_options_);
  }
  std::unique_ptr<Kernel> foreign_kernel(const KernelSource& source, std::string_view entry,
                                         const std::string& options) override {
    return real_.foreign_kernel(source, entry, options + more_options_);
  }
  std::optional<Nanos> try_out(const std::function<void(Stream&)>& commands) override {
    return real_.try_out(commands);
  }

 private:
  DeviceResources& real_;
  DeviceTraits traits_;
  std::string more_options_;
};

// The devices tests run on: the first CPU in two if it can be split, else everything there is.
inline std::vector<Device> test_devices(Backend& backend) {
  auto found = backend.enumerate().devices;
  REQUIRE_FALSE(found.empty());
  for (const Device& device : found) {
    if (device.is_cpu() && device.compute_units >= 2) return backend.split(device, 2);
  }
  return found;
}

// They, opened once for all tests.
struct Machine {
  Machine()
      : backend(make_cl_backend({embedded_kernels(), std::filesystem::temp_directory_path() /
                                                         "mgpu-bench-test-kernels"})) {
    for (const Device& device : test_devices(*backend)) open.push_back(backend->open(device));
    executor = std::make_unique<Executor>(*backend, open.size());
  }

  std::unique_ptr<Backend> backend;
  std::vector<std::unique_ptr<OpenDevice>> open;
  std::unique_ptr<Executor> executor;
};

inline Machine& machine() {
  static Machine made;
  return made;
}

enum class Path { own, gpu };

inline void wait_for(OpenDevice& device) {
  const BatchId batch = device.submit();
  while (!device.complete(batch)) {
  }
  device.take(batch);
}

struct Programs {
  std::vector<std::unique_ptr<DeviceProgram>> programs;
  std::vector<DeviceEstimate> estimates;
};

// Of each of the first `devices` (0: all), self-tested and, unless end to end, loaded. `pipeline`
// 0: the workload's.
inline Programs make_programs(Workload& workload, Mode mode, Path path, Items pipeline = 0,
                              std::size_t devices = 0, const std::string& gpu_options = "") {
  Machine& here = machine();
  Programs made;
  const std::size_t count = devices == 0 ? here.open.size() : std::min(devices, here.open.size());
  for (std::uint32_t i = 0; i < count; ++i) {
    OpenDevice& device = *here.open[i];
    AsGpu disguised(device.resources(), gpu_options);
    DeviceResources& resources =
        path == Path::gpu ? static_cast<DeviceResources&>(disguised) : device.resources();
    Capacity capacity = workload.capacity(resources.traits(), mode);
    REQUIRE(capacity.fits > 0);
    if (pipeline > 0) capacity.pipeline = std::min(pipeline, capacity.fits);
    made.programs.push_back(workload.program(resources, mode, capacity));
    DeviceProgram& program = *made.programs.back();
    program.self_test(device.stream());
    wait_for(device);
    program.self_tested();
    if (mode != Mode::end_to_end) program.load(device.stream());
    wait_for(device);
    DeviceEstimate estimate;
    estimate.items_per_s = 1;
    estimate.score = 10;
    estimate.fits = capacity.fits;
    estimate.pipeline = capacity.pipeline;
    made.estimates.push_back(estimate);
  }
  return made;
}

// One sample; the workload then has its result.
inline void take_sample(Workload& workload, Programs& made, const std::string& strategy,
                        Mode mode) {
  Machine& here = machine();
  SampleRequest request;
  for (std::size_t i = 0; i < made.programs.size(); ++i)
    request.members.push_back({here.open[i].get(), made.programs[i].get()});
  const Shape& shape = workload.shape();
  PlanRequest plan;
  plan.items = shape.items;
  plan.granularity = shape.granularity;
  plan.mode = mode;
  plan.cost = workload.cost(mode);
  plan.devices = made.estimates;
  const StrategyChoice choice = parse_strategies(strategy).front();
  const auto source = choice.info->make(choice.params)->begin(plan, {});
  request.workload = &workload;
  request.source = source.get();
  const RawSample sample = here.executor->run(request);
  REQUIRE_MESSAGE(!sample.failure, (sample.failure ? sample.failure->what() : ""));
}

}  // namespace mgpu::testing
