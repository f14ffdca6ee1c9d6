#include "lib/opencl/cl_slow_down.hpp"

#include <cmath>

namespace mgpu {

std::optional<Nanos> ClSlowDown::expected(const SlowDown& slow_down) const {
  if (!spin_.ready() || !slow_down.handicap().slows_always()) return {};
  Nanos kernels{};
  for (const Launched& kernel : kernels_) {
    const auto took = times_.expected(kernel.key);
    if (!took) return {};
    kernels += *took;
  }
  const Nanos extra{
      std::llround((slow_down.handicap().slow - 1) * static_cast<double>(kernels.count()))};
  return extra <= ClSpin::kLongest ? std::optional(extra) : std::nullopt;
}

std::optional<ClSlowDown::Added> ClSlowDown::add(const cl::Context& context,
                                                 const cl::CommandQueue& queue, ClStalls& stalls,
                                                 const SlowDown& slow_down) {
  if (kernels_.empty()) return {};
  const std::optional<Nanos> extra = expected(slow_down);
  std::vector<Launched> kernels = std::exchange(kernels_, {});
  Added added{kernels.back().event, {}, {}};
  if (!extra) {
    std::vector<cl::Event> events;
    for (Launched& kernel : kernels) events.push_back(std::move(kernel.event));
    added.end = stalls.add(context, queue, added.since, std::move(events), {});
    return added;
  }
  owed_ += *extra;
  if (owed_ < spin_.overhead() / 2) return {};
  added.counted = std::max(Nanos{}, owed_ - spin_.overhead());
  added.end = spin_.add(queue, *added.counted);
  owed_ -= *added.counted + spin_.overhead();
  return added;
}

}  // namespace mgpu
