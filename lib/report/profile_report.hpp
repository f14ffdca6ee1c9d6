// The report of `profile`: what a program did with OpenCL, and what holds it back. Its file is JSON
// of schema "mgpu-bench/profile".
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "lib/profile/metrics.hpp"
#include "lib/profile/program.hpp"
#include "lib/profile/program_costs.hpp"
#include "lib/profile/program_summary.hpp"
#include "lib/report/record.hpp"
#include "lib/report/table_writer.hpp"

namespace mgpu {

struct ProfiledDevice {
  ProgramDevice device;
  DeviceParts parts;
  std::uint64_t commands = 0;
};

// The iteration shown of those that a program repeats.
struct ProfiledIteration {
  IterationFigures figures;
  std::vector<DeviceParts> parts;  // by device, in that iteration
};

struct ProfileReport {
  ToolInfo tool;
  std::string started;                             // RFC 3339 in UTC
  std::map<std::string, std::string> environment;  // of the machine
  std::vector<std::string> program;                // words of the command line
  // How the program ended: its exit code, or 128 + the signal that killed it.
  int exit_code = 0;
  Nanos wall{};  // from its start to its end
  // Of a run of the program without the layer (--check-overhead).
  std::optional<Nanos> wall_without{};
  std::vector<ProgramProcess> processes;
  Nanos before{}, makespan{};  // until the first command; from it to the end of the last
  Nanos from{};                // the part that is shown begins there (--from)
  ProgramRecord::Builds builds{};
  std::vector<ProfiledDevice> devices;
  Metrics metrics;  // those that do not need devices measured alone
  ProgramCosts costs;
  std::vector<std::string> verdict;  // sentences: what holds it back, and what would help
  std::vector<KernelFigures> kernels;
  std::vector<CopyFigures> copies;
  std::vector<WaitFigures> waits;
  BuildFigures late_builds;  // after the first command
  std::optional<ProfiledIteration> iterations;
  std::vector<std::string> warnings;
  std::vector<ProgramThread> threads;
  std::vector<HostCall> calls;  // those that waited, built or took long
  Timeline timeline;
};

// What of a program is reported.
struct ProfileSelection {
  Nanos from{};
  std::optional<Nanos> length{};                        // none: to the end
  std::function<bool(const std::string&)> kernel = {};  // whether a kernel is listed; empty: all
};

// Analyses a record; the caller sets what it does not know: tool, program, its end.
ProfileReport analyse_program(const ProgramRecord& record, const ProfileSelection& selection);

// Returns the sentences: what holds the program back most, what removing it would give, and what
// else is known about that.
std::vector<std::string> profile_verdict(const ProfileReport& report);

// Returns the report as text, for a terminal of the style's width.
std::string profile_text(const ProfileReport& report, const TableStyle& style);

// Returns what changed between two profiles of a program, as text: the times, the parts of devices
// and the kernels.
std::string profile_comparison(const ProfileReport& base, const ProfileReport& fresh,
                               const TableStyle& style);

// Returns the report as JSON, and its schema as text.
std::string profile_json(const ProfileReport& report);
std::string profile_schema();
// Tells whether a file is such a report, without reading all of it.
bool is_profile(const std::filesystem::path& file);
// Throws Error(input) that names the file and what is wrong with it.
ProfileReport read_profile(const std::filesystem::path& file);
ProfileReport profile_from_json(nlohmann::ordered_json json);

// Returns a Chrome trace of the devices' commands and of the calls of the program's threads.
std::string profile_trace(const ProfileReport& report);

}  // namespace mgpu
