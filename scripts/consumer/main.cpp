// Asks every strategy how it would split work over a fast and a slow device, and lists suites and
// OpenCL devices: it uses each of the layers plan, exec, suites and kernels of an installed
// mgpu-bench once.
#include <cstdio>
#include <exception>

#include "lib/opencl/cl_backend.hpp"
#include "lib/plan/simulator.hpp"
#include "lib/plan/strategy.hpp"
#include "suites/suites.hpp"

namespace {

void plan() {
  std::vector<mgpu::DeviceEstimate> devices(2);
  for (mgpu::DeviceEstimate& device : devices) device.fits = device.pipeline = 1 << 20;
  devices[0].items_per_s = 3e6;
  devices[1].items_per_s = 1e6;
  mgpu::PlanRequest request;
  request.items = 1 << 20;
  request.devices = devices;
  for (const mgpu::StrategyChoice& choice : mgpu::parse_strategies("all")) {
    const auto source = choice.info->make(choice.params)->begin(request, {});
    const mgpu::Simulation simulation = mgpu::simulate(request, *source);
    std::printf("%-14s %7.1f ms, %llu + %llu items\n", choice.label().c_str(),
                1e-6 * static_cast<double>(simulation.makespan.count()),
                static_cast<unsigned long long>(simulation.devices[0].items),
                static_cast<unsigned long long>(simulation.devices[1].items));
  }
}

void list() {
  for (const mgpu::SuiteInfo& suite : mgpu::all_suites())
    std::printf("suite %s\n", suite.name.c_str());
  for (const mgpu::Device& device :
       mgpu::make_cl_backend({mgpu::embedded_kernels(), {}})->enumerate().devices) {
    std::printf("device %s %s\n", device.id.c_str(), device.name.c_str());
  }
}

}  // namespace

int main() {
  try {
    plan();
    list();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "consumer: %s\n", error.what());
    return 1;
  }
}
