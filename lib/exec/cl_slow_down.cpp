// See the header.
#include "lib/exec/cl_slow_down.hpp"

#include <cmath>

namespace mgpu {

std::optional<Nanos> ClSlowDown::extra(const Pace& pace) const {
  if (!spin_.ready() || !pace.handicap().slows_always()) return {};
  Nanos kernels{};
  for (const Launched& kernel : kernels_) {
    const auto expected = times_.expected(kernel.key);
    if (!expected) return {};
    kernels += *expected;
  }
  const Nanos extra{std::llround((pace.handicap().slow - 1) * static_cast<double>(kernels.count()))};
  return extra <= ClSpin::kLongest ? std::optional(extra) : std::nullopt;
}

std::optional<ClSlowDown::Added> ClSlowDown::add(const cl::Context& context, const cl::CommandQueue& queue, ClHolds& holds,
                                                 const Pace& pace) {
  if (kernels_.empty()) return {};
  Added added{kernels_.back().event, {}, extra(pace)};
  std::vector<Launched> kernels = std::exchange(kernels_, {});
  if (added.spun) {
    added.end = spin_.add(queue, *added.spun);
  } else {
    std::vector<cl::Event> events;
    for (Launched& kernel : kernels) events.push_back(std::move(kernel.event));
    added.end = holds.add(context, queue, added.since, std::move(events), {});
  }
  return added;
}

}  // namespace mgpu
