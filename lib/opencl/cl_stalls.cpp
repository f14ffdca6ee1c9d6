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
  holds_.push_back({std::move(gate), std::move(since), std::move(kernels), delay, {}});
  // NVIDIA stamps barriers and markers that wait for a list of events with zeros, but stamps a bare
  // marker behind them correctly.
  cl::Event end;
  queue.enqueueMarkerWithWaitList(nullptr, &end);
  return end;
}

Nanos ClStalls::release_time(const Hold& hold, Nanos now, const SlowDown& slow_down) {
  const auto since = hold.since.getProfilingInfo<CL_PROFILING_COMMAND_END>();
  clock_.saw(now, since);
  Nanos at = clock_.to_host(since) + hold.delay;
  for (const cl::Event& kernel : hold.kernels) {
    at += slow_down.extra(clock_.to_host(kernel.getProfilingInfo<CL_PROFILING_COMMAND_START>()),
                          clock_.to_host(kernel.getProfilingInfo<CL_PROFILING_COMMAND_END>()));
  }
  return at;
}

bool ClStalls::poll(const SlowDown& slow_down) {
  if (holds_.empty()) return false;
  Hold& hold = holds_.front();
  if (!hold.release_at) {
    const cl_int status = hold.since.getInfo<CL_EVENT_COMMAND_EXECUTION_STATUS>();
    if (status > CL_COMPLETE) return false;
    // Read after the status: with an earlier time the clock would lag, and holds would end too
    // soon.
    const Nanos now = host_now();
    // A failure is found by the code that waits for the command.
    hold.release_at = status < 0 ? now : release_time(hold, now, slow_down);
  }
  if (host_now() < *hold.release_at) return false;
  hold.gate.setStatus(CL_COMPLETE);
  holds_.pop_front();
  return true;
}

bool ClStalls::release_all() noexcept {
  const bool any = !holds_.empty();
  for (const Hold& hold : holds_) clSetUserEventStatus(hold.gate(), CL_COMPLETE);
  holds_.clear();
  return any;
}

}  // namespace mgpu
