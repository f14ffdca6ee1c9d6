// Request of `run`, read and checked before any device is touched.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/cli.hpp"
#include "app/exports.hpp"
#include "app/handicaps.hpp"
#include "app/settings.hpp"
#include "lib/base/output_file.hpp"
#include "lib/session/links.hpp"
#include "lib/session/options.hpp"

namespace mgpu {

// Origin of the problems' sizes: given in the request, small ones that can be split (--quick),
// chosen by rates of the devices, or swept from small ones up to the chosen one.
enum class Sizes { given, quick, automatic, sweep };

// Stream for the events of --json-lines.
enum class JsonLines { none, out, err };

struct RunRequest {
  // Devices, their handicaps and device_counts are left empty: see device_counts().
  SessionOptions session;
  LinksOptions links;  // of `links`, which measures them instead of the session's problems
  // Unless given, there is one problem per suite, which app/sizes.hpp completes with sizes.
  Sizes sizes = Sizes::given;
  // Result whose sizes are used if none are given.
  std::optional<std::filesystem::path> sizes_of;
  // Result whose cases are to have no more samples than those of this run.
  std::optional<std::filesystem::path> samples_of;
  // Numbers of devices that were given; empty: all devices, and in a sweep also the first 2, 4, 8.
  std::vector<std::uint64_t> device_counts;
  std::uint64_t require_devices = 0;
  std::vector<HandicapTerm> handicaps;
  std::optional<Bytes> memory_pool;  // limit on the memory used of each device
  bool overview = false;  // one row per suite; problems get their sizes as they are measured
  bool strict = false, quick = false, quiet = false, verbose = false;
  JsonLines json_lines = JsonLines::none;
  bool json = false;   // prints only the result on stdout
  bool force = false;  // replaces a result even if nothing was measured
  std::optional<std::filesystem::path> result_file, trace_file;
  bool no_save = false;                          // saves no result
  std::optional<std::filesystem::path> history;  // folder that the result is appended to
  std::map<std::string, std::string> labels;     // of the result
  // The program chose result_file (app/saved_results.hpp).
  bool result_is_dated = false;
  bool resumes = false;  // result_file is that of an earlier run
  OutputFiles outputs;   // all files to write
  std::vector<ExportFile> exports;
  std::vector<Requirement> requirements;
};

// Returns the named suites, whose names may be separate or joined by commas; all if none is named.
// Throws Error(usage) with the known names.
std::vector<const SuiteInfo*> choose_suites(std::string_view command,
                                            std::span<const std::string> names,
                                            std::span<const SuiteInfo> suites);

// Returns the suites of run or plan: its arguments, else those that options imply, else all.
std::vector<const SuiteInfo*> chosen_suites(const Invocation& invocation,
                                            std::span<const SuiteInfo> suites);

// Sets the fields of the request that the options given have.
void read_fields(const Settings& settings, std::span<const OptionSpec> options,
                 RunRequest& request);

// Reads what run and simulate share: options whose row in the table sets a field, strategies and
// requirements. Leaves problems, devices and files empty. `chosen`: the suites to run, which decide
// the valid modes.
RunRequest read_measurement(const Settings& settings, std::span<const SuiteInfo* const> chosen);

// Returns the modes that any of the suites has, each once: resident first, end to end last.
std::vector<Mode> modes_of(std::span<const SuiteInfo* const> suites);

// Returns the words that --mode takes if these modes exist.
std::vector<std::string> mode_words(std::span<const Mode> modes);

// Returns the recorded ones of these options with their values, given or by default:
// {"build_timeout_ns", 300000000000}.
ParamMap recorded_options(const RunRequest& request, std::span<const OptionSpec> options);

// Opens the files to write, which must be different and writable; other runs cannot open them until
// the request is destroyed. Called after read_problems(), as --save-data holds the result of one
// problem.
void read_output_files(const Settings& settings, RunRequest& request);

// Reads the request of run or plan, whose arguments are the suites (none: all). Throws
// Error(usage), naming the option, its value and what is expected; Error(input) for a bad --input;
// Error(output) for a file that cannot be written. `memory`: of the host; larger problems are
// refused.
RunRequest read_run_request(const Invocation& invocation, std::span<const SuiteInfo> suites,
                            Bytes memory);

// Returns the device counts to measure on a set of `available` devices. Larger counts are dropped
// with a warning. Throws Error(usage) for them under --strict, and if none is left.
std::vector<std::size_t> device_counts(const RunRequest& request, std::size_t available,
                                       std::vector<std::string>& warnings);

}  // namespace mgpu
