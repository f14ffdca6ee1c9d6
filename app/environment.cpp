// Reads /proc, /etc/os-release, uname and the process environment. A fact that cannot be read is
// left out, never guessed.
#include "app/environment.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <string_view>

#include "lib/base/quote.hpp"

extern char** environ;

namespace mgpu {
namespace {

// Variables of loaders and vendors that change which devices are seen, their order, or how they
// run.
constexpr const char* kDeviceVariables[] = {
    "CUDA_VISIBLE_DEVICES",     "CUDA_DEVICE_ORDER",      "NVIDIA_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",     "HIP_VISIBLE_DEVICES",    "GPU_DEVICE_ORDINAL",
    "ZE_AFFINITY_MASK",         "ONEAPI_DEVICE_SELECTOR", "OCL_ICD_VENDORS",
    "OCL_ICD_FILENAMES",        "OPENCL_VENDOR_PATH",     "OCL_ICD_PLATFORM_SORT",
    "OCL_ICD_DEFAULT_PLATFORM", "OPENCL_LAYERS",          "POCL_DEVICES",
    "POCL_MAX_PTHREAD_COUNT",   "POCL_CPU_MAX_CU_COUNT",  "POCL_AFFINITY",
    "POCL_MEMORY_LIMIT",        "OMP_NUM_THREADS",
};

// Returns the value after "key<separators>" in the first line that begins with the key.
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
  // Arm kernels have only numbers.
  return model.empty() ? field("/proc/cpuinfo", "CPU implementer") : model;
}

// Reads "max" or "1000000" (memory.max), or "150000 100000" (cpu.max: 150000 of every 100000
// microseconds).
std::optional<double> read_limit(const std::filesystem::path& file) {
  std::ifstream in(file);
  double amount = 0, period = 0;
  if (!(in >> amount)) return std::nullopt;  // no such file, or "max"
  return in >> period && period > 0 ? amount / period : amount;
}

// Returns the numbers of the CPUs that the process may run on; none: not known.
std::optional<std::vector<int>> allowed_cpus() {
  constexpr std::size_t kMost = 8192;  // cpu_set_t alone has room for 1024
  cpu_set_t* const set = CPU_ALLOC(kMost);
  const std::size_t size = CPU_ALLOC_SIZE(kMost);
  std::optional<std::vector<int>> cpus;
  if (set != nullptr && sched_getaffinity(0, size, set) == 0) {
    cpus.emplace();
    for (std::size_t cpu = 0; cpu < kMost; ++cpu)
      if (CPU_ISSET_S(cpu, size, set)) cpus->push_back(static_cast<int>(cpu));
  }
  CPU_FREE(set);
  return cpus;
}

// Returns $NAME, or `otherwise` in $HOME, where that is an absolute path.
std::filesystem::path user_folder(const Environment& environment, const char* name,
                                  const char* otherwise) {
  const std::filesystem::path given = environment.get(name).value_or("");
  if (given.is_absolute()) return given;
  const std::filesystem::path home = environment.get("HOME").value_or("");
  return home.is_absolute() ? home / otherwise : std::filesystem::path();
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

std::optional<double> control_group_limit(const std::filesystem::path& root,
                                          const std::string& name) {
  const std::filesystem::path mounted = root / "sys/fs/cgroup";
  const std::string group = field((root / "proc/self/cgroup").c_str(), "0::");
  std::optional<double> least;
  // Groups that a container cannot see above its own limit it, too, but those limits are unknown.
  for (std::filesystem::path at = std::filesystem::path(group).relative_path();;
       at = at.parent_path()) {
    const auto limit = read_limit(mounted / at / name);
    if (limit && (!least || *limit < *least)) least = limit;
    if (at.empty()) return least;
  }
}

Bytes host_memory() {
  const auto physical =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  return static_cast<Bytes>(
      std::min(physical, control_group_limit("/", "memory.max").value_or(physical)));
}

double usable_cores() {
  auto cores = static_cast<double>(sysconf(_SC_NPROCESSORS_ONLN));
  if (const auto allowed = allowed_cpus()) cores = static_cast<double>(allowed->size());
  const auto quota = control_group_limit("/", "cpu.max");
  return std::max(0.0, quota ? std::min(cores, *quota) : cores);
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
  facts["cores"] = fmt::format("{}", usable_cores());
  const auto allowed = allowed_cpus();
  if (allowed && static_cast<long>(allowed->size()) < sysconf(_SC_NPROCESSORS_ONLN))
    facts["cpus_allowed"] = fmt::format("{}", fmt::join(*allowed, ","));
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
  for (const std::string_view name : kDeviceVariables) {
    // Hides nothing, and is mostly set by pin_pocl_threads().
    if (name == "POCL_AFFINITY") continue;
    if (const auto value = environment.get(std::string(name)))
      set.push_back(std::string(name) + "=" + *value);
  }
  return set;
}

std::string pocl_cache_trouble(const Environment& environment) {
  std::filesystem::path cache = environment.get("POCL_CACHE_DIR").value_or("");
  if (cache.empty()) cache = user_folder(environment, "XDG_CACHE_HOME", ".cache");
  if (cache.empty()) return {};
  std::error_code error;
  std::filesystem::create_directories(cache, error);  // PoCL makes it, too
  if (!error && access(cache.c_str(), W_OK | X_OK) != 0)
    error = std::error_code(errno, std::generic_category());
  constexpr std::uintmax_t kLeast = std::uintmax_t{1} << 20;  // a program has some 100 KiB
  if (!error && std::filesystem::space(cache, error).available < kLeast && !error)
    error = std::make_error_code(std::errc::no_space_on_device);
  if (!error) return {};
  return fmt::format(
      "PoCL cannot write its cache in {} ({}): set POCL_CACHE_DIR to a folder that "
      "can be written",
      in_quotes(cache.string()), error.message());
}

std::filesystem::path cache_directory(const Environment& environment) {
  const std::filesystem::path folder = user_folder(environment, "XDG_CACHE_HOME", ".cache");
  return folder.empty() ? folder : folder / "mgpu-bench";
}

std::filesystem::path state_directory(const Environment& environment) {
  const std::filesystem::path folder = user_folder(environment, "XDG_STATE_HOME", ".local/state");
  return folder.empty() ? folder : folder / "mgpu-bench";
}

OutputFile::Mode output_mode(const std::filesystem::path& file) {
  const auto summary = Environment::of_process().get("GITHUB_STEP_SUMMARY");
  return summary && file == *summary ? OutputFile::Mode::append : OutputFile::Mode::replace;
}

}  // namespace mgpu
