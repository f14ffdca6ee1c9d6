// The machine and the environment variables: read only here, and passed on as plain values.
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
// rules require.
class Environment {
 public:
  static Environment of_process();
  explicit Environment(std::map<std::string, std::string> variables)
      : variables_(std::move(variables)) {}

  std::optional<std::string> get(const std::string& name) const;
  // Returns the names that begin with `prefix`, sorted.
  std::vector<std::string> names_with_prefix(const std::string& prefix) const;

 private:
  std::map<std::string, std::string> variables_;
};

// Asks PoCL to pin each of its threads to one core, unless the user has decided: else two
// sub-devices of one core each are sometimes scheduled on the same core, and one of them starts a
// time slice (4 ms) late. Does nothing if the process may not use all cores, as PoCL ends the
// process when it cannot have the core of a thread's number. Must be called before OpenCL is loaded
// and the environment is copied.
void pin_pocl_threads();

// Returns the bytes of this machine's memory, or the limit of the process's control groups if that
// is less.
Bytes host_memory();

// Returns the number of cores that the process may use: those of its CPU affinity, or the quota of
// its control groups if that is less, which may be a fraction of a core. 0: not known.
double usable_cores();

// Returns the least limit of the process's control group and of those that contain it, read from
// the files `name` of control groups version 2: bytes of memory.max, cores of cpu.max. None: there
// is no limit. `root`: folder that has proc and sys.
std::optional<double> control_group_limit(const std::filesystem::path& root,
                                          const std::string& name);

// Returns what a reader of the result file needs to know of the machine: host, cpu, cores that may
// be used (and which, cpus_allowed, if not all), os, kernel, machine, memory_bytes, and every
// variable that hides, reorders or reconfigures devices, under its own name.
std::map<std::string, std::string> describe_environment(const Environment& environment);

// Returns the names of those variables, set or not.
std::vector<std::string> device_variable_names();

// Returns the variables that are set and can hide devices, as "NAME=value", for the message that
// there is no device.
std::vector<std::string> device_variables(const Environment& environment);

inline constexpr const char* kPoclPlatform = "Portable Computing Language";

// Returns why PoCL cannot write its cache, which leaves it without devices or kernels; empty if it
// can.
std::string pocl_cache_trouble(const Environment& environment);

// Returns $XDG_CACHE_HOME/mgpu-bench, else $HOME/.cache/mgpu-bench; empty when neither is set: then
// nothing is cached. Here and below a relative path counts as not set, as the XDG rules require.
std::filesystem::path cache_directory(const Environment& environment);

// Returns $XDG_STATE_HOME/mgpu-bench, else $HOME/.local/state/mgpu-bench; empty when neither is
// set.
std::filesystem::path state_directory(const Environment& environment);

// Returns `append` for a job summary (the file that $GITHUB_STEP_SUMMARY names), to which other
// steps write as well; else `replace`.
OutputFile::Mode output_mode(const std::filesystem::path& file);

}  // namespace mgpu
