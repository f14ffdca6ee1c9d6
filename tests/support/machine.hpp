// The devices of this machine, and one sample of a workload on all of them through the executor:
// code that the tests of the suites' kernels share.
#pragma once

#include <doctest/doctest.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/embedded.hpp"
#include "lib/exec/executor.hpp"
#include "lib/opencl/cl_backend.hpp"
#include "lib/plan/strategy.hpp"
#include "lib/workload/workload.hpp"

namespace mgpu::testing {

// Resources that claim to belong to a GPU without a vendor. They make code paths for GPUs run on
// machines without one, and those for other vendors' GPUs run on an NVIDIA one. `more_options` go
// to every kernel.
class AsGpu final : public DeviceResources {
 public:
  explicit AsGpu(DeviceResources& real, std::string more_options = "", bool has_fp64 = true)
      : real_(real), traits_(real.traits()), more_options_(std::move(more_options)) {
    traits_.cpu = traits_.nvidia = false;
    traits_.fp64 &= has_fp64;
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

// Returns the devices that tests use: the two halves of the first CPU if it can be split, else all
// devices.
inline std::vector<Device> test_devices(Backend& backend) {
  auto found = backend.enumerate().devices;
  REQUIRE_FALSE(found.empty());
  for (const Device& device : found) {
    if (device.is_cpu() && device.compute_units >= 2) return backend.split(device, 2);
  }
  return found;
}

// The test devices, opened once for all tests.
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

// The device's own kernels; those of GPUs; those of GPUs without fp64.
enum class Path { own, gpu, gpu_without_fp64 };

inline void wait_for(OpenDevice& device) {
  const BatchId batch = device.submit();
  while (!device.complete(batch)) {
  }
  device.take(batch);
}

// Parameters of a sample.
struct How {
  std::string strategy = "equal";
  Mode mode = Mode::resident;
  Path path = Path::own;
  Items pipeline = 0;                     // 0: the workload's
  std::size_t devices = 0;                // number of devices, the first ones; 0: all
  std::string gpu_options = " -DROLLED";  // PoCL takes minutes for unrolled loops
};

struct Programs {
  // Programs that have passed the self-test and, unless end to end, are loaded.
  Programs(Workload& workload, const How& asked) : how(asked) {
    Machine& here = machine();
    const std::size_t count =
        how.devices == 0 ? here.open.size() : std::min(how.devices, here.open.size());
    for (std::uint32_t i = 0; i < count; ++i) {
      OpenDevice& device = *here.open[i];
      AsGpu disguised(device.resources(), how.gpu_options, how.path == Path::gpu);
      DeviceResources& resources =
          how.path != Path::own ? static_cast<DeviceResources&>(disguised) : device.resources();
      Capacity capacity = workload.capacity(resources.traits(), how.mode);
      REQUIRE_MESSAGE(capacity.fits > 0, capacity.reason);
      if (how.pipeline > 0) capacity.pipeline = std::min(how.pipeline, capacity.fits);
      DeviceProgram& program =
          *programs.emplace_back(workload.program(resources, how.mode, capacity));
      if (SelfTested* const self_tested = program.interfaces().self_tested) {
        const Completion completion = self_tested->self_test(device.stream());
        wait_for(device);
        completion();
      }
      if (how.mode != Mode::end_to_end) program.load(device.stream());
      wait_for(device);
      DeviceEstimate& estimate = estimates.emplace_back();
      estimate.items_per_s = 1;
      estimate.score = 10;
      estimate.fits = capacity.fits;
      estimate.pipeline = capacity.pipeline;
    }
  }

  // Takes one sample; afterwards the workload holds its result.
  void sample(Workload& workload, const std::string& strategy) {
    Machine& here = machine();
    SampleRequest request;
    for (std::size_t i = 0; i < programs.size(); ++i)
      request.participants.push_back({here.open[i].get(), programs[i].get()});
    const Shape& shape = workload.shape();
    PlanRequest plan;
    plan.items = shape.items;
    plan.granularity = shape.granularity;
    plan.mode = how.mode;
    plan.cost = cost_of(workload, how.mode);
    plan.devices = estimates;
    const StrategyChoice choice = parse_strategies(strategy).front();
    const auto source = choice.info->make(choice.params)->begin(plan, {});
    request.workload = &workload;
    request.source = source.get();
    const RawSample taken = here.executor->run(request);
    REQUIRE_MESSAGE(!taken.failure, (taken.failure ? taken.failure->what() : ""));
    for (std::size_t i = 0; i < programs.size(); ++i) {
      const Completion completion = programs[i]->publish(here.open[i]->stream());
      wait_for(*here.open[i]);
      if (completion) completion();
    }
  }

  How how;
  std::vector<std::unique_ptr<DeviceProgram>> programs;
  std::vector<DeviceEstimate> estimates;
};

// Takes one sample, verifies it and returns its digest.
inline std::string digest_of(Workload& workload, const How& how = {},
                             VerifyLevel level = VerifyLevel::full) {
  INFO(how.strategy, " ", to_string(how.mode), how.path != Path::own ? " as on GPUs" : "");
  Programs made(workload, how);
  workload.begin_sample();
  made.sample(workload, how.strategy);
  const Verdict verdict = workload.verify(level, 3);
  CHECK_MESSAGE(verdict.status == Verdict::Status::passed, verdict.message);
  return workload.digest();
}

}  // namespace mgpu::testing
