// Reads /proc, /etc/os-release, uname and the process environment. A fact that cannot be read is
// left out, never guessed.
#include "app/environment.hpp"

#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string_view>

#include "lib/base/error.hpp"
#include "lib/base/quantity.hpp"

extern char** environ;

namespace mgpu {
namespace {

// Variables of the loaders and vendors that change which devices are seen, in what order, or how
// they run.
constexpr const char* kDeviceVariables[] = {
    "CUDA_VISIBLE_DEVICES",     "CUDA_DEVICE_ORDER",      "NVIDIA_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",     "HIP_VISIBLE_DEVICES",    "GPU_DEVICE_ORDINAL",
    "ZE_AFFINITY_MASK",         "ONEAPI_DEVICE_SELECTOR", "OCL_ICD_VENDORS",
    "OCL_ICD_FILENAMES",        "OPENCL_VENDOR_PATH",     "OCL_ICD_PLATFORM_SORT",
    "OCL_ICD_DEFAULT_PLATFORM", "OPENCL_LAYERS",          "POCL_DEVICES",
    "POCL_MAX_PTHREAD_COUNT",   "POCL_CPU_MAX_CU_COUNT",  "POCL_AFFINITY",
    "POCL_MEMORY_LIMIT",        "OMP_NUM_THREADS",
};

// The value after "key<separators>" of the first line that begins with the key.
std::string field(const char* file, std::string_view key) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t at = line.find_first_not_of(" \t:=\"", key.size());
    if (at == std::string::npos) return {};
    line = line.substr(at);
    while (!line.empty() && (line.back() == '"' || line.back() == ' ')) line.pop_back();
    return line;
  }
  return {};
}

std::string cpu_model() {
  std::string model = field("/proc/cpuinfo", "model name");
  return model.empty() ? field("/proc/cpuinfo", "CPU implementer")
                       : model;  // Arm kernels print numbers only
}

}  // namespace

void pin_pocl_threads() {
  cpu_set_t allowed;
  const long cores = sysconf(_SC_NPROCESSORS_CONF);
  if (cores < 1 || cores > CPU_SETSIZE || sched_getaffinity(0, sizeof allowed, &allowed) != 0)
    return;
  for (int core = 0; core < cores; ++core) {
    if (!CPU_ISSET(core, &allowed)) return;
  }
  setenv("POCL_AFFINITY", "1", 0);
}

Environment Environment::of_process() {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals != std::string_view::npos)
      variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return Environment(std::move(variables));
}

std::optional<std::string> Environment::get(const std::string& name) const {
  const auto found = variables_.find(name);
  if (found == variables_.end() || found->second.empty()) return std::nullopt;
  return found->second;
}

std::vector<std::string> Environment::names_with_prefix(const std::string& prefix) const {
  std::vector<std::string> names;
  for (auto it = variables_.lower_bound(prefix);
       it != variables_.end() && it->first.starts_with(prefix); ++it) {
    if (!it->second.empty()) names.push_back(it->first);
  }
  return names;
}

Bytes host_memory() {
  const Bytes physical =
      static_cast<Bytes>(sysconf(_SC_PHYS_PAGES)) * static_cast<Bytes>(sysconf(_SC_PAGESIZE));
  std::ifstream limit("/sys/fs/cgroup/memory.max");
  std::string text;
  if (limit >> text && text != "max") {
    try {
      return std::min(physical, parse_bytes("memory.max", text));
    } catch (const Error&) {  // not a number: no limit that we understand
    }
  }
  return physical;
}

std::map<std::string, std::string> describe_environment(const Environment& environment) {
  std::map<std::string, std::string> facts;
  utsname system{};
  if (uname(&system) == 0) {
    facts["host"] = system.nodename;
    facts["kernel"] = std::string(system.sysname) + " " + system.release;
    facts["machine"] = system.machine;
  }
  facts["cpu"] = cpu_model();
  facts["cores"] = std::to_string(sysconf(_SC_NPROCESSORS_ONLN));
  facts["os"] = field("/etc/os-release", "PRETTY_NAME");
  facts["memory_bytes"] = std::to_string(host_memory());
  std::erase_if(facts, [](const auto& fact) { return fact.second.empty(); });
  for (const char* name : kDeviceVariables) {
    if (const auto value = environment.get(name)) facts[name] = *value;
  }
  return facts;
}

std::vector<std::string> device_variable_names() {
  return {std::begin(kDeviceVariables), std::end(kDeviceVariables)};
}

std::vector<std::string> device_variables(const Environment& environment) {
  std::vector<std::string> set;
  for (const char* name : kDeviceVariables) {
    if (const auto value = environment.get(name)) set.push_back(std::string(name) + "=" + *value);
  }
  return set;
}

std::filesystem::path cache_directory(const Environment& environment) {
  if (const auto cache = environment.get("XDG_CACHE_HOME"))
    return std::filesystem::path(*cache) / "mgpu-bench";
  if (const auto home = environment.get("HOME"))
    return std::filesystem::path(*home) / ".cache" / "mgpu-bench";
  return {};
}

std::filesystem::path state_directory(const Environment& environment) {
  const auto absolute = [&](const char* name) {
    const std::filesystem::path path = environment.get(name).value_or("");
    return path.is_absolute() ? path : std::filesystem::path();
  };
  if (const auto state = absolute("XDG_STATE_HOME"); !state.empty()) return state / "mgpu-bench";
  if (const auto home = absolute("HOME"); !home.empty())
    return home / ".local" / "state" / "mgpu-bench";
  return {};
}

OutputFile::Mode output_mode(const std::filesystem::path& file) {
  const auto summary = Environment::of_process().get("GITHUB_STEP_SUMMARY");
  return summary && file == *summary ? OutputFile::Mode::append : OutputFile::Mode::replace;
}

}  // namespace mgpu
