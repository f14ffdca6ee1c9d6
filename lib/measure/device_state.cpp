// Reads files of Linux that its kernel documents: admin-guide/pm/cpufreq.rst, intel_pstate.rst,
// ABI/testing/sysfs-bus-pci, hwmon/sysfs-interface.rst.
#include "lib/measure/device_state.hpp"

#include <algorithm>
#include <set>

#include "lib/base/small_files.hpp"

namespace mgpu {
namespace {

namespace fs = std::filesystem;

std::string first_line(const fs::path& file) {
  const std::string text = small_file(file, 256);
  return text.substr(0, text.find('\n'));
}

// Returns the folders of cpu0, cpu1, ... that have a frequency driver.
std::vector<fs::path> frequency_folders(const fs::path& cpus) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator it(cpus, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    std::error_code ignored;
    if (name.starts_with("cpu") && name.find_first_of("0123456789") == 3 &&
        fs::exists(it->path() / "cpufreq", ignored))
      found.push_back(it->path() / "cpufreq");
  }
  return found;
}

DeviceState state_of_cpu(const fs::path& root) {
  const fs::path cpus = root / "sys/devices/system/cpu";
  DeviceState state;
  std::set<std::string> governors;
  for (const fs::path& folder : frequency_folders(cpus)) {
    if (const std::string governor = first_line(folder / "scaling_governor"); !governor.empty())
      governors.insert(governor);
    if (const auto most = small_number(folder / "scaling_max_freq")) {
      auto& highest = state[Setting::clock_max];
      highest = std::max(highest ? std::get<double>(*highest) : 0.0, *most * 1e-3);  // kHz
    }
  }
  std::string all;
  for (const std::string& governor : governors) all += (all.empty() ? "" : ", ") + governor;
  if (!all.empty()) state[Setting::governor] = all;
  if (const auto off = small_number(cpus / "intel_pstate/no_turbo"))
    state[Setting::boost] = *off == 0;
  else if (const auto on = small_number(cpus / "cpufreq/boost"))
    state[Setting::boost] = *on != 0;
  return state;
}

// Returns 4 for "16.0 GT/s PCIe"; none for another text.
std::optional<double> pcie_generation(const std::string& speed) {
  constexpr const char* kSpeeds[] = {"2.5 ", "5.0 ", "8.0 ", "16.0 ", "32.0 ", "64.0 "};
  for (std::size_t k = 0; k < std::size(kSpeeds); ++k)
    if (speed.starts_with(kSpeeds[k])) return static_cast<double>(k + 1);
  return std::nullopt;
}

DeviceState state_in_sysfs(const fs::path& folder) {
  DeviceState state;
  if (const auto generation = pcie_generation(first_line(folder / "max_link_speed")))
    state[Setting::pcie_generation_max] = *generation;
  if (const auto width = small_number(folder / "max_link_width"); width && *width > 0)
    state[Setting::pcie_width_max] = *width;
  // Intel's sustained limit, 0 if there is none (ABI/testing/sysfs-driver-intel-xe-hwmon); its
  // power1_cap is for bursts. amdgpu has power1_cap alone.
  const fs::path sensors = sensors_of(folder);
  auto limit = small_number(sensors / "power1_max");
  if (!limit) limit = small_number(sensors / "power1_cap");
  if (limit && *limit > 0) state[Setting::power_limit] = *limit * 1e-6;
  return state;
}

}  // namespace

DeviceState read_device_state(const Device& device, const TelemetryPlaces& places) {
  if (device.is_elsewhere()) return {};
  if (device.is_cpu()) return state_of_cpu(places.root);
  const Nvml* const nvml = places.nvml();
  if (const Nvml::Handle gpu = nvml != nullptr ? nvml->find(device) : nullptr; gpu != nullptr)
    return nvml->state(gpu);
  return device.pci ? state_in_sysfs(places.root / "sys/bus/pci/devices" / *device.pci)
                    : DeviceState{};
}

}  // namespace mgpu
