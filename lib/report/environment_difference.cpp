#include "lib/report/environment_difference.hpp"

#include <algorithm>
#include <set>

namespace mgpu {

namespace {

void compare_fact(const std::string& what, const std::string& base, const std::string& fresh,
                  bool decisive, std::vector<EnvironmentDifference>& found) {
  if (base != fresh)
    found.push_back({what, base.empty() ? "-" : base, fresh.empty() ? "-" : fresh, decisive});
}

void compare_devices(const DeviceRecord& base, const DeviceRecord& fresh,
                     std::vector<EnvironmentDifference>& found) {
  struct Fact {
    const char* name;
    std::string Device::*member;
  };
  static constexpr Fact facts[] = {{"name", &Device::name},
                                   {"platform", &Device::platform},
                                   {"platform_version", &Device::platform_version},
                                   {"driver_version", &Device::driver_version},
                                   {"device_version", &Device::device_version}};
  const Device &a = base.device, &b = fresh.device;
  const std::string which = "device " + a.id + " ";
  for (const Fact& fact : facts)
    compare_fact(which + fact.name, a.*fact.member, b.*fact.member, true, found);
  compare_fact(which + "type", std::string(to_string(a.type)), std::string(to_string(b.type)), true,
               found);
  compare_fact(which + "compute_units", std::to_string(a.compute_units),
               std::to_string(b.compute_units), true, found);
  compare_fact(which + "handicap", base.handicap.any() ? in_words(base.handicap) : "",
               fresh.handicap.any() ? in_words(fresh.handicap) : "", true, found);
}

// "700 W", or "700 W, then 500 W" of a setting that was changed during the run.
std::string during_run(const DeviceRecord& record, const SettingInfo& info) {
  const auto &before = record.before[info.setting], &after = record.after[info.setting];
  if (!before) return "";
  const std::string text = in_words(info, *before);
  return after && *after != *before ? text + ", then " + in_words(info, *after) : text;
}

// Older results, and those of machines that hide it, do not have all: what only one of them has is
// no difference.
void compare_settings(const DeviceRecord& base, const DeviceRecord& fresh,
                      std::vector<EnvironmentDifference>& found) {
  for (const SettingInfo& info : kSettingTable) {
    if (info.matters == SettingInfo::Matters::never) continue;
    const std::string a = during_run(base, info), b = during_run(fresh, info);
    if (a.empty() || b.empty()) continue;
    compare_fact("device " + base.device.id + " " + info.label, a, b,
                 info.matters == SettingInfo::Matters::decisive, found);
  }
}

}  // namespace

std::vector<EnvironmentDifference> environment_differences(const Report& base,
                                                           const Report& fresh) {
  static const std::set<std::string> noted{"kernel", "os", "memory_bytes", "cpus_allowed"};
  std::vector<EnvironmentDifference> found;
  std::set<std::string> names;
  for (const auto& [name, value] : base.environment) names.insert(name);
  for (const auto& [name, value] : fresh.environment) names.insert(name);
  const auto fact = [](const Report& report, const std::string& name) {
    const auto it = report.environment.find(name);
    return it == report.environment.end() ? std::string() : it->second;
  };
  for (const std::string& name : names)
    compare_fact(name, fact(base, name), fact(fresh, name), !noted.contains(name), found);
  compare_fact("number of devices", std::to_string(base.devices.size()),
               std::to_string(fresh.devices.size()), true, found);
  for (std::size_t i = 0; i < std::min(base.devices.size(), fresh.devices.size()); ++i) {
    compare_devices(base.devices[i], fresh.devices[i], found);
    compare_settings(base.devices[i], fresh.devices[i], found);
  }
  std::stable_partition(found.begin(), found.end(),
                        [](const EnvironmentDifference& d) { return d.decisive; });
  return found;
}

std::string to_string(const EnvironmentDifference& d) {
  return d.what + ": " + d.base + " -> " + d.fresh;
}

}  // namespace mgpu
