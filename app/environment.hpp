// The machine and the environment variables: read here and nowhere else, handed on as plain values.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/output_file.hpp"
#include "lib/base/units.hpp"

namespace mgpu {

// A copy of the process environment. An empty variable counts as not set, as NO_COLOR and the XDG
// rules have it.
class Environment {
 public:
  static Environment of_process();
  explicit Environment(std::map<std::string, std::string> variables)
      : variables_(std::move(variables)) {}

  std::optional<std::string> get(const std::string& name) const;
  // Names that begin with `prefix`, sorted.
  std::vector<std::string> names_with_prefix(const std::string& prefix) const;

 private:
  std::map<std::string, std::string> variables_;
};

// Asks PoCL to keep each of its threads on one core, unless the user has decided: else two
// sub-devices of one core each are now and then scheduled on the same core, and one of them starts
// a time slice (4 ms) late. Left alone where the process may not use all cores, as PoCL ends the
// process when it cannot have the core of a thread's number. Call before OpenCL is loaded and the
// environment is copied.
void pin_pocl_threads();

// Bytes of this machine's memory, or the limit of the process's control groups where that is less.
Bytes host_memory();

// Returns how many cores the process may use: those of its CPU affinity, or the quota of its
// control groups where that is less, which may be a part of a core. 0: not known.
double usable_cores();

// Returns the least limit of the process's control group and those that it lies in, as version 2
// has them in the file `name`: bytes of memory.max, cores of cpu.max. None: there is no limit.
// `root`: where proc and sys are.
std::optional<double> control_group_limit(const std::filesystem::path& root,
                                          const std::string& name);

// Returns what a reader of the result file needs to know of the machine: host, cpu, cores that
// may be used, and which (cpus_allowed) where these are not all, os, kernel, memory_bytes, and
// every variable that hides, reorders or reconfigures devices, under its own name.
std::map<std::string, std::string> describe_environment(const Environment& environment);

// The names of those variables, set or not.
std::vector<std::string> device_variable_names();

// Returns the variables that can hide devices, as "NAME=value", for the message that there is none.
std::vector<std::string> device_variables(const Environment& environment);

inline constexpr const char* kPoclPlatform = "Portable Computing Language";

// Returns why PoCL has no device or builds no kernel where that is its cache, which it must be able
// to write: an empty text where it is not.
std::string pocl_cache_trouble(const Environment& environment);

// $XDG_CACHE_HOME/mgpu-bench, else $HOME/.cache/mgpu-bench; empty when neither is set: then nothing
// is cached. Here and below a relative path counts as not set, as the XDG rules have it.
std::filesystem::path cache_directory(const Environment& environment);

// $XDG_STATE_HOME/mgpu-bench, else $HOME/.local/state/mgpu-bench; empty when neither is set.
std::filesystem::path state_directory(const Environment& environment);

// Says that a job summary, the file that $GITHUB_STEP_SUMMARY names, is appended to: it has what
// other steps wrote, too.
OutputFile::Mode output_mode(const std::filesystem::path& file);

}  // namespace mgpu
