// --export and --require, which run, simulate and report have in common.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "app/exit_codes.hpp"
#include "app/settings.hpp"
#include "lib/base/output_file.hpp"
#include "lib/report/requirement.hpp"

namespace mgpu {

struct ExportFile {
  std::string kind;
  std::filesystem::path file;
};

// Every KIND=FILE of --export. Throws Error(usage) for an unknown kind or a missing name.
std::vector<ExportFile> read_exports(const Settings& settings);
std::vector<Requirement> read_requirements(const Settings& settings);

void add_outputs(const std::vector<ExportFile>& exports, OutputFiles& outputs);
// Throws Error(usage) if --json and another output are both on standard output.
void refuse_two_on_standard_output(bool json, const OutputFiles& outputs);

// Tells whether an older file stays as it is: nothing in the report was measured, and nobody
// forces it.
bool keeps_older(const OutputFile& file, const Report& report, bool force);
// Says so on stderr.
void tell_kept(const OutputFile& file);

// Writes all of them but those that keep an older content; what cannot be written is said on
// stderr. Returns true when nothing failed.
bool write_exports(const Report& report, const std::vector<ExportFile>& exports,
                   const std::vector<Miss>& missed, const OutputFiles& outputs, bool force);

// Prints one line on stderr for each. Returns what they amount to: regression where one was missed,
// inconclusive where one was not shown to be reached.
ExitCode tell_misses(const std::vector<Miss>& missed);

}  // namespace mgpu
