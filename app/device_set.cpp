// Selection, splitting and capping, in that order. lib/device defines the selectors.
#include "app/device_set.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <limits>
#include <string_view>

#include "lib/base/error.hpp"
#include "lib/base/quote.hpp"
#include "lib/device/selection.hpp"
#include "lib/measure/device_status.hpp"

namespace mgpu {
namespace {

// Throws Error(no_device) with enough to find the cause on a new machine, where the loader alone
// says -1001. `empty_pocl`: a platform of PoCL is there, but has no device.
[[noreturn]] void refuse_no_device(const std::string& what, bool empty_pocl,
                                   const Environment& environment) {
  const std::string folder =
      environment.get("OCL_ICD_VENDORS")
          .value_or(environment.get("OPENCL_VENDOR_PATH").value_or("/etc/OpenCL/vendors"));
  const std::vector<std::string> variables = device_variables(environment);
  if (empty_pocl) {
    if (const std::string trouble = pocl_cache_trouble(environment); !trouble.empty())
      throw Error(ErrorKind::no_device, what + "; " + trouble);
  }
  throw Error(ErrorKind::no_device,
              fmt::format("{}; the OpenCL loader reads {}; variables set: {}; `clinfo` shows what "
                          "it finds, and the "
                          "package pocl-opencl-icd makes a device of the CPU",
                          what, folder, variables.empty() ? "none" : joined(variables)));
}

Backend::Enumeration enumerate(Backend& backend, const std::string& selector,
                               const Environment& environment) {
  Backend::Enumeration found = backend.enumerate();
  if (!found.devices.empty()) return found;
  std::string what = no_device_message(selector, found.devices, found.platforms);
  for (const std::string& warning : found.warnings) what += "; " + warning;
  const bool pocl = std::any_of(
      found.platforms.begin(), found.platforms.end(),
      [](const std::string& name) { return name.find(kPoclPlatform) != std::string::npos; });
  refuse_no_device(what, pocl, environment);
}

// Splits each CPU into `parts`, the value of `from`; 0 or 1: leaves them whole.
std::vector<Device> with_cpus_split(Backend& backend, const std::vector<Device>& devices,
                                    std::uint64_t parts, const std::string& from) {
  if (parts <= 1) return devices;
  std::vector<Device> split;
  for (const Device& device : devices) {
    if (!device.is_cpu()) {
      split.push_back(device);
      continue;
    }
    try {
      for (Device& part : backend.split(device, static_cast<unsigned>(parts)))
        split.push_back(std::move(part));
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::unsupported) throw;
      const std::string most =
          device.can_be_split() ? fmt::format("at most {}", device.compute_units) : "1";
      throw Error(ErrorKind::usage, fmt::format("{}: {}; expected: {}", from, error.what(), most));
    }
  }
  return split;
}

std::vector<Device> default_devices(Backend& backend, const Backend::Enumeration& found,
                                    std::uint64_t parts, DeviceSet& set) {
  std::vector<Device> devices;
  for (const std::size_t index : default_selection(found.devices))
    devices.push_back(found.devices[index]);
  if (parts > 0 || devices.size() != 1 || !devices.front().can_be_split()) return devices;
  try {
    return backend.split(devices.front(),
                         std::min(devices.front().compute_units, kMostDefaultParts));
  } catch (const Error& error) {
    // Some CPU drivers cannot split; it was not asked for, so the whole CPU is used.
    if (error.kind() != ErrorKind::unsupported) throw;
    set.warnings.push_back(
        fmt::format("{} is used as one device: {}", devices.front().id, error.what()));
    return devices;
  }
}

// Tells whether a term names a part of a device, such as 0:1.2. (<regex> would dominate the compile
// time of this file.)
bool has_sub_device(std::string_view selector) {
  const auto digit = [&](std::size_t at) {
    return at < selector.size() && selector[at] >= '0' && selector[at] <= '9';
  };
  for (std::size_t dot = selector.find('.'); dot != std::string_view::npos;
       dot = selector.find('.', dot + 1)) {
    std::size_t device = dot;
    while (device > 0 && digit(device - 1)) --device;
    if (device < dot && device >= 2 && selector[device - 1] == ':' && digit(device - 2) &&
        digit(dot + 1))
      return true;
  }
  return false;
}

std::vector<Device> selected_devices(Backend& backend, const Backend::Enumeration& found,
                                     const Given& selector, std::uint64_t parts,
                                     const std::string& parts_from, bool strict, DeviceSet& set) {
  const bool names_parts = has_sub_device(selector.value);
  const std::vector<Device> list =
      names_parts ? with_cpus_split(backend, found.devices, parts, parts_from) : found.devices;
  const Selector::Result result = Selector::parse(selector.value).apply(list);
  const auto tell = [&](std::string what, const std::string& hint) {
    what = selector.from + ": " + what;
    if (strict)
      throw Error(ErrorKind::usage, what + ", which --strict does not accept" + hint +
                                        "; `mgpu-bench devices` lists them");
    set.warnings.push_back(what + hint);
  };
  for (const std::string& term : result.unmatched) tell(in_quotes(term) + " matches no device", "");
  for (const Selector::Short& term : result.shorter)
    tell(fmt::format("{} asks for more devices than there are ({})", in_quotes(term.written),
                     term.matched),
         term.written.starts_with("cpu") && parts == 0
             ? "; --sub-devices N makes N devices of a CPU"
             : "");
  std::vector<Device> devices;
  for (const std::size_t index : result.chosen) devices.push_back(list[index]);
  return names_parts ? devices : with_cpus_split(backend, devices, parts, parts_from);
}

// Keeps the `most` devices that are best now: score x (1 - utilisation).
void keep_best(std::uint64_t most, bool no_telemetry, std::vector<Device>& devices) {
  std::vector<double> utilisation;
  if (!no_telemetry)
    for (const DeviceStatus& status : StatusReader(devices, TelemetryPlaces{}).read(Nanos{}))
      utilisation.push_back(status.utilisation.value_or(0));
  std::vector<Device> best;
  for (const std::size_t i : best_devices(devices, utilisation, most)) best.push_back(devices[i]);
  devices = std::move(best);
}

// Tells whether all terms select GPUs, as "gpu" and "gpu:2,gpu" do.
bool asks_for_gpus_only(std::string_view selector) {
  const std::vector<std::string> terms = split_commas(selector);
  return std::all_of(terms.begin(), terms.end(), [](const std::string& term) {
    return term == "gpu" || term.starts_with("gpu:");
  });
}

// Returns the given command with `devices` as its -d, appended if the environment or a file chose
// devices.
std::string with_other_devices(const std::vector<std::string>& argv, const std::string& devices) {
  std::string line = "mgpu-bench";
  bool put = false;
  for (std::size_t i = 1; i < argv.size(); ++i) {
    const std::string& word = argv[i];
    const bool apart = word == "-d" || word == "--devices" || word == "--device-filter";
    const bool joined = word.starts_with("--devices=") || word.starts_with("--device-filter=") ||
                        (word.starts_with("-d") && word.size() > 2);
    if (!apart && !joined) {
      line += " " + shell_word(word);
      continue;
    }
    if (!put) line += " " + devices;
    put = true;
    if (apart) ++i;
  }
  return put ? line : line + " " + devices;
}

// Refuses a command for GPUs on a machine that has none, and says which command works instead.
[[noreturn]] void refuse_no_gpu(const Given& selector, const Device& cpu, const Context& context) {
  const bool splits = context.invocation.command != "devices" && cpu.can_be_split() &&
                      !context.invocation.settings.has("sub-devices");
  const std::string devices = splits ? fmt::format("-d cpu --sub-devices {}",
                                                   std::min(cpu.compute_units, kMostDefaultParts))
                                     : "-d cpu";
  throw Error(ErrorKind::no_device,
              fmt::format("{} {}: there is no GPU here, only the CPU {} ({}); what works here: {}",
                          selector.from, in_quotes(selector.value), cpu.id, cpu.name,
                          with_other_devices(context.tool.argv, devices)));
}

}  // namespace

std::uint64_t count_setting(const Settings& settings, std::string_view name, std::uint64_t least,
                            std::uint64_t standard) {
  const Given* given = settings.find(name);
  return given == nullptr ? standard : read_count(*given, least);
}

DeviceSet choose_devices(Backend& backend, const Context& context) {
  const Settings& settings = context.invocation.settings;
  const Environment& environment = context.environment;
  const Given* selector = settings.find("devices");
  const Given* parts_given = settings.find("sub-devices");
  const std::uint64_t parts = count_setting(settings, "sub-devices", 1, 0);
  const std::uint64_t most =
      count_setting(settings, "max-devices", 1, std::numeric_limits<std::uint64_t>::max());
  const std::string parts_from = parts_given != nullptr ? parts_given->from : "";
  if (parts > std::numeric_limits<unsigned>::max()) {
    throw Error(
        ErrorKind::usage,
        fmt::format("{}: {} is too large; expected: up to the number of cores", parts_from, parts));
  }
  if (selector != nullptr)
    // A malformed selector is refused even if there is no device.
    Selector::parse(selector->value);

  DeviceSet set;
  const Backend::Enumeration found =
      enumerate(backend, selector != nullptr ? selector->value : "", environment);
  set.warnings = found.warnings;
  const auto is_cpu = [](const Device& device) { return device.is_cpu(); };
  const auto cpu = std::find_if(found.devices.begin(), found.devices.end(), is_cpu);
  const bool no_gpu =
      std::none_of(found.devices.begin(), found.devices.end(),
                   [](const Device& device) { return device.type == DeviceType::gpu; });
  if (selector != nullptr && no_gpu && cpu != found.devices.end() &&
      asks_for_gpus_only(selector->value))
    refuse_no_gpu(*selector, *cpu, context);
  if (selector != nullptr) {
    set.devices = selected_devices(backend, found, *selector, parts, parts_from,
                                   settings.is_on("strict"), set);
  } else {
    set.devices =
        with_cpus_split(backend, default_devices(backend, found, parts, set), parts, parts_from);
  }
  if (set.devices.empty()) {
    refuse_no_device(no_device_message(selector != nullptr ? selector->value : "", found.devices,
                                       found.platforms),
                     false, environment);
  }
  if (parts > 1 && std::none_of(set.devices.begin(), set.devices.end(), is_cpu)) {
    set.warnings.push_back(
        fmt::format("{}: there is no CPU among the devices to split", parts_from));
  }
  for (const Device& device : set.devices)
    if (device.fma_is_slow)
      set.warnings.push_back(fmt::format(
          "device {} {} has no fused multiply-add in single precision: its compiler calls a "
          "routine, which is slow",
          device.id, device.name));
  if (set.devices.size() > most) keep_best(most, settings.is_on("no-telemetry"), set.devices);
  if (cpu != found.devices.end() && std::none_of(set.devices.begin(), set.devices.end(), is_cpu))
    set.reserve = *cpu;
  return set;
}

DeviceSet every_device(Backend& backend, const Environment& environment) {
  Backend::Enumeration found = enumerate(backend, "", environment);
  return {std::move(found.devices), std::nullopt, std::move(found.warnings)};
}

}  // namespace mgpu
