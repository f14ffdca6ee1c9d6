#include "suites/common/group_limits.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lib/base/quantity.hpp"

namespace mgpu {

std::string why_none_suits(const DeviceTraits& device, std::span<const GroupDemand> demands) {
  const GroupDemand least = *std::min_element(
      demands.begin(), demands.end(), [](const GroupDemand& a, const GroupDemand& b) {
        return a.items != b.items ? a.items < b.items : a.local < b.local;
      });
  std::string needs = fmt::format("work-groups of {} work-items", least.items),
              has = fmt::format("{}", device.max_work_group);
  if (least.local > device.local_memory) {
    needs +=
        fmt::format(" with {} of local memory", format_bytes(static_cast<double>(least.local)));
    has += fmt::format(" with {}", format_bytes(static_cast<double>(device.local_memory)));
  }
  return fmt::format("its smallest kernel needs {}; it can have up to {}", needs, has);
}

std::vector<std::size_t> halves_of(std::size_t wanted) {
  std::vector<std::size_t> all{wanted};
  while (all.back() > 1) all.push_back(all.back() / 2);
  return all;
}

}  // namespace mgpu
