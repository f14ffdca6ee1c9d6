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

}  // namespace

std::vector<EnvironmentDifference> environment_differences(const Report& base,
                                                           const Report& fresh) {
  static const std::set<std::string> noted{"kernel", "os", "memory_bytes"};
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
  for (std::size_t i = 0; i < std::min(base.devices.size(), fresh.devices.size()); ++i)
    compare_devices(base.devices[i], fresh.devices[i], found);
  std::stable_partition(found.begin(), found.end(),
                        [](const EnvironmentDifference& d) { return d.decisive; });
  return found;
}

std::string to_string(const EnvironmentDifference& d) {
  return d.what + ": " + d.base + " -> " + d.fresh;
}

}  // namespace mgpu
