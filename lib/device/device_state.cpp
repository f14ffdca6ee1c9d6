#include "lib/device/device_state.hpp"

#include <fmt/format.h>

namespace mgpu {

std::string in_words(const SettingInfo& info, const SettingValue& value) {
  if (const auto* number = std::get_if<double>(&value))
    return fmt::format("{}{}{}", *number, *info.unit != '\0' ? " " : "", info.unit);
  if (const auto* on = std::get_if<bool>(&value)) return *on ? "on" : "off";
  return std::get<std::string>(value);
}

std::vector<SettingChange> setting_changes(const DeviceState& before, const DeviceState& after) {
  std::vector<SettingChange> changes;
  for (const SettingInfo& info : kSettingTable) {
    const auto &a = before[info.setting], &b = after[info.setting];
    if (info.matters == SettingInfo::Matters::never || !a || !b || *a == *b) continue;
    changes.push_back({&info, in_words(info, *a), in_words(info, *b)});
  }
  return changes;
}

}  // namespace mgpu
