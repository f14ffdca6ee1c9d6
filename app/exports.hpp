// --export and --require, shared by run, simulate and report.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
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

// Reads every KIND=FILE of --export. Throws Error(usage) for a kind that is none of `kinds`, or a
// missing name.
std::vector<ExportFile> read_exports(const Settings& settings,
                                     std::span<const std::string_view> kinds);
std::vector<Requirement> read_requirements(const Settings& settings);

void add_outputs(const std::vector<ExportFile>& exports, OutputFiles& outputs);
// Throws Error(usage) if --json and another output are both on standard output.
void refuse_two_on_standard_output(bool json, const OutputFiles& outputs);

// Tells whether the file keeps its older content: nothing in the report was measured, and `force`
// is not set.
bool keeps_older(const OutputFile& file, const Report& report, bool force);
// Prints on stderr that the file keeps its older content.
void tell_kept(const OutputFile& file);

// Writes all exports except files that keep older content; prints errors on stderr. Returns true
// when nothing failed.
bool write_exports(const Report& report, const std::vector<ExportFile>& exports,
                   const std::vector<Miss>& missed, const OutputFiles& outputs, bool force);

// Prints one line per miss on stderr. Returns the worst code: regression if a requirement was
// missed, inconclusive if one was not shown to be met.
ExitCode tell_misses(const std::vector<Miss>& missed);

}  // namespace mgpu
