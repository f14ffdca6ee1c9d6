// Checks whether the time stamps of commands can be right. parts.cpp, which uses the stamps, is
// independent of it.
#include <algorithm>
#include <string>

#include "lib/base/error.hpp"
#include "lib/base/units.hpp"
#include "lib/profile/metrics.hpp"

namespace mgpu {

namespace {

// Clocks drift between the moments they are compared, and not quite evenly.
constexpr Nanos kSlack{100'000};
constexpr Nanos kCoarsest{1'000'000};  // largest uncertainty in a short sample
// Virtual clocks: the rounding of two ends; a tiny command may take no time.
constexpr Nanos kExact{1};
// Bytes that cannot move in no time: over 1 us, a coarse timer's step, they would be 1 TB/s.
constexpr Bytes kNotInNoTime = 1ull << 20;

const char* what_is_wrong(const Command& c, bool exact, Nanos earliest, Nanos latest) {
  if (c.ended < c.started) return "a command ended before it began";
  if (c.ended == c.started && !exact && c.kind == CommandKind::compute)
    return "a kernel took no time";
  if (c.ended == c.started && !exact && c.bytes >= kNotInNoTime) return "a transfer took no time";
  if (c.started < earliest || c.ended > latest) return "a command lies outside the sample";
  return "";
}

}  // namespace

std::vector<std::string> impossible_stamps(const Timeline& timeline) {
  std::vector<std::string> wrong(timeline.devices);
  const auto uncertainty = [&](std::size_t device) {
    return device < timeline.uncertainty.size() ? timeline.uncertainty[device] : Nanos{};
  };
  for (const Command& c : timeline.commands) {
    const std::size_t device = c.device.value;
    if (device >= timeline.devices)
      throw Error(ErrorKind::internal, "timeline names device " + std::to_string(device) + " of " +
                                           std::to_string(timeline.devices));
    if (!wrong[device].empty()) continue;
    if (uncertainty(device) > std::max(timeline.makespan, kCoarsest)) {
      wrong[device] =
          "its clock could not be compared with the host's to less than the sample's length";
      continue;
    }
    const Nanos slack = saturating_add(uncertainty(device), kSlack);
    const bool exact = !timeline.uncertainty.empty() && uncertainty(device) <= kExact;
    wrong[device] =
        what_is_wrong(c, exact, Nanos{} - slack, saturating_add(timeline.makespan, slack));
  }
  return wrong;
}

}  // namespace mgpu
