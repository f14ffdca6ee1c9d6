#include "suites/pipeline/placement.hpp"

#include <algorithm>
#include <numeric>

#include "lib/plan/chain.hpp"
#include "suites/common/group_limits.hpp"
#include "suites/pipeline/stage_kernels.hpp"

namespace mgpu::pipeline {
namespace {

// Returns the shortest time for `batches` whole batches, of which device i takes each[i] seconds: a
// device that is free takes the next one.
double seconds_of_shares(std::span<const double> each, std::uint64_t batches) {
  constexpr std::uint64_t counted = 100'000;  // beyond, one batch more or less is negligible
  double rate = 0;
  for (const double time : each) rate += 1 / time;
  if (batches > counted) return static_cast<double>(batches) / rate;
  // End of the next batch on each device.
  std::vector<double> ends(each.begin(), each.end());
  double last = 0;
  for (std::uint64_t b = 0; b < batches; ++b) {
    const auto at = std::min_element(ends.begin(), ends.end());
    last = std::max(last, *at);
    *at += each[static_cast<std::size_t>(at - ends.begin())];
  }
  return last;
}

// Returns the times of all devices, or nothing if one cannot be measured at set-up or its kernels
// do not reach the next one's memory.
std::vector<StageTimes> times_on(const Problem& problem, std::span<DeviceResources* const> devices,
                                 SharedMemory& memory) {
  std::vector<StageTimes> all;
  for (DeviceResources* const device : devices) {
    const DeviceIndex self = device->peer()->self();
    Buffer* const next =
        memory.remote(self, {static_cast<std::uint32_t>((self.value + 1) % devices.size())});
    if (next == nullptr) return {};
    const std::size_t group = groups_for(device->traits()).front();
    const auto times = make_first_suited(halves_of(group), [&](std::size_t each) {
      return StageKernels(*device, problem, each).measure(next);
    });
    if (!times) return {};
    all.push_back(*times);
  }
  return all;
}

}  // namespace

std::vector<Bytes> handed_over(const Problem& problem) {
  std::vector<Bytes> bytes;
  for (const Stage& stage : problem.stages)
    bytes.push_back(std::min(problem.batch, problem.records) * stage.width_after() * 4);
  return bytes;
}

Placements placements_of(const Problem& problem, std::span<const StageTimes> times) {
  ChainEstimate chain{{times.begin(), times.end()}, handed_over(problem)};
  std::vector<DeviceEstimate> devices(times.size());
  std::vector<double> whole;
  for (std::size_t i = 0; i < times.size(); ++i) {
    devices[i].fits = devices[i].pipeline = problem.stages.size();
    whole.push_back(std::accumulate(times[i].keeps.begin(), times[i].keeps.end(), 0.0));
  }
  PlanRequest request;
  request.items = problem.stages.size();
  request.rounds = static_cast<std::uint32_t>(problem.batches());
  request.devices = devices;
  request.chain = &chain;
  Placements found;
  found.shares = balanced_chain(request);
  found.stages = seconds(simulate_chain(request, found.shares).makespan);
  found.data = seconds_of_shares(whole, problem.batches());
  return found;
}

void settle_place(SuiteParams& params, std::span<DeviceResources* const> devices,
                  PeerGroup* group) {
  const Problem problem = problem_of(params);
  if (problem.place != Place::open) return;
  params.options["place"] = "data";
  if (devices.size() < 2 || group == nullptr || problem.stages.size() < 2 || problem.fuse) return;
  const std::unique_ptr<SharedMemory> memory = group->allocate(problem.most_handed_over());
  const std::vector<StageTimes> times = times_on(problem, devices, *memory);
  if (times.empty()) return;
  const Placements found = placements_of(problem, times);
  if (found.stages < found.data) params.options["place"] = "pipeline";
}

}  // namespace mgpu::pipeline
