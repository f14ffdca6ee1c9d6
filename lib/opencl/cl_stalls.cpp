#include "lib/opencl/cl_stalls.hpp"

#include <algorithm>
#include <utility>

namespace mgpu {

void ClSeenClock::saw(Nanos now, std::uint64_t ended) {
  const std::int64_t distance = now.count() - static_cast<std::int64_t>(ended);
  const std::int64_t drifted = offset_ + (now - at_).count() / 50'000;
  offset_ = known_ ? std::min(distance, drifted) : distance;
  known_ = true;
  at_ = now;
}

cl::Event ClStalls::add(const cl::Context& context, const cl::CommandQueue& queue, cl::Event since,
                        std::vector<cl::Event> kernels, Nanos delay) {
  cl::UserEvent gate(context);
  const std::vector<cl::Event> gates{gate};
  queue.enqueueBarrierWithWaitList(&gates, nullptr);
  stalls_.push_back({std::move(gate), std::move(since), std::move(kernels), delay, {}});
  // NVIDIA stamps barriers and markers that wait for a list of events with zeros, but stamps a bare
  // marker behind them correctly.
  cl::Event end;
  queue.enqueueMarkerWithWaitList(nullptr, &end);
  return end;
}

Nanos ClStalls::release_time(const Stall& stall, Nanos now, const SlowDown& slow_down) {
  const auto since = stall.since.getProfilingInfo<CL_PROFILING_COMMAND_END>();
  clock_.saw(now, since);
  Nanos at = clock_.to_host(since) + stall.delay;
  for (const cl::Event& kernel : stall.kernels) {
    at += slow_down.extra(clock_.to_host(kernel.getProfilingInfo<CL_PROFILING_COMMAND_START>()),
                          clock_.to_host(kernel.getProfilingInfo<CL_PROFILING_COMMAND_END>()));
  }
  return at;
}

bool ClStalls::poll(const SlowDown& slow_down) {
  if (stalls_.empty()) return false;
  Stall& stall = stalls_.front();
  if (!stall.release_at) {
    const cl_int status = stall.since.getInfo<CL_EVENT_COMMAND_EXECUTION_STATUS>();
    if (status > CL_COMPLETE) return false;
    // Read after the status: with an earlier time the clock would lag, and stalls would end too
    // soon.
    const Nanos now = host_now();
    // A failure is found by the code that waits for the command.
    stall.release_at = status < 0 ? now : release_time(stall, now, slow_down);
  }
  if (host_now() < *stall.release_at) return false;
  stall.gate.setStatus(CL_COMPLETE);
  stalls_.pop_front();
  return true;
}

bool ClStalls::release_all() noexcept {
  const bool any = !stalls_.empty();
  for (const Stall& stall : stalls_) clSetUserEventStatus(stall.gate(), CL_COMPLETE);
  stalls_.clear();
  return any;
}

}  // namespace mgpu
