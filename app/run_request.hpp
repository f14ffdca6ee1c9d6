// What `run` was asked for, read and checked before any device is touched.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/cli.hpp"
#include "app/exports.hpp"
#include "app/handicaps.hpp"
#include "app/settings.hpp"
#include "lib/base/output_file.hpp"
#include "lib/session/options.hpp"

namespace mgpu {

// How the sizes of problems are found: as the request has them, chosen by rates of the devices, or
// from small ones to that.
enum class Sizes { given, automatic, sweep };

struct RunRequest {
  SessionOptions
      session;  // devices, their handicaps and device_counts are left empty: see device_counts()
  Sizes sizes = Sizes::given;  // else problems are not complete: one a suite, without a size; see
                               // app/sizes.hpp
  std::optional<std::filesystem::path>
      sizes_of;  // the result that has them, where they are not given
  std::vector<std::uint64_t>
      device_counts;  // as asked; empty: all devices, of a sweep also the first 2, 4, 8, ...
  std::uint64_t require_devices = 0;
  std::vector<HandicapTerm> handicaps;
  std::optional<Bytes> memory_pool;  // at most that much of each device's memory
  bool strict = false, quick = false, quiet = false, verbose = false;
  bool json = false;   // the result, and nothing else, goes to stdout
  bool force = false;  // replace a result even if nothing was measured
  std::optional<std::filesystem::path> result_file, trace_file;
  bool result_is_dated =
      false;  // result_file was not asked for: it is the next one of app/saved_results.hpp
  bool resumes = false;  // an earlier run's result_file
  OutputFiles outputs;   // every file to write
  std::vector<ExportFile> exports;
  std::vector<Requirement> requirements;
};

// Those named, one after another or with commas; all when none is. Throws Error(usage) with the
// known ones.
std::vector<const SuiteInfo*> choose_suites(std::string_view command,
                                            std::span<const std::string> names,
                                            std::span<const SuiteInfo> suites);

// What run and simulate have in common: every option whose row in the table sets a field;
// strategies, requirements. Problems, devices and files are left empty. `chosen`: the suites to
// run, whose modes can be asked for.
RunRequest read_measurement(const Settings& settings, std::span<const SuiteInfo* const> chosen);

// The modes that any of the suites has, each once: resident first, end to end last.
std::vector<Mode> modes_of(std::span<const SuiteInfo* const> suites);

// What --mode accepts where these modes exist.
std::vector<std::string> mode_words(std::span<const Mode> modes);

// Of these options, those that results record, with their values, given or by default:
// {"build_timeout_ns", 300000000000}.
ParamMap recorded_options(const RunRequest& request, std::span<const OptionSpec> options);

// The files to write: all different, all writable, and nobody else's until the request is gone.
// Read after the problems, since
// --output holds the result of one.
void read_output_files(const Settings& settings, RunRequest& request);

// Of run or plan: its arguments are the suites asked for, none meaning all. Throws Error(usage),
// naming the option, its value and what is accepted; Error(input) for a bad --input; Error(output)
// for a file that will not be writable. `memory`: of the host; larger problems are refused.
RunRequest read_run_request(const Invocation& invocation, std::span<const SuiteInfo> suites,
                            Bytes memory);

// The counts to measure on a set of `available` devices. Those above it are dropped with a warning,
// under --strict refused (usage), as it is when none is left.
std::vector<std::size_t> device_counts(const RunRequest& request, std::size_t available,
                                       std::vector<std::string>& warnings);

}  // namespace mgpu
