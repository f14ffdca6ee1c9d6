// Prints a comparison: a table for a terminal, Markdown for the summary of a CI job, JSON (schema
// "mgpu-bench/compare") for scripts.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "lib/report/comparison.hpp"
#include "lib/report/table_writer.hpp"

namespace mgpu {

// Origin of a side.
struct ComparedSource {
  std::vector<std::string> names;           // files, or the command that was run
  std::vector<std::string> tools, devices;  // "0.2.0 (76aa88e40555)"; "4 x NVIDIA H100"; each once
  std::vector<std::string> started;         // RFC 3339 in UTC: of the first and of the last report
};
ComparedSource source_of(std::vector<std::string> names, std::span<const Report> reports);

struct ComparisonSources {
  ComparedSource base, fresh;
};

// Leaves only rows with a verdict of regression or improvement, and those that are slower without
// one, the largest change first. The counts stay.
void show_only_changed(Comparison& comparison);

// Returns a summary line, the origins, one table per suite, parameters and mode; cases that were
// not compared; differences between the machines.
std::string comparison_tables(const Comparison& comparison, const ComparisonSources& sources,
                              const TableStyle& style);
// Returns the names by which a user chooses columns ("dev", "change", ...), in their order. The
// columns strategy, metric, BASE and NEW are always there.
std::vector<std::string> comparison_column_names();
std::string comparison_markdown(const Comparison& comparison, const ComparisonSources& sources);
// Returns "time 1.00 ms -> 2.00 ms, +100.0 % (+98.1 .. +102.0 %), regression".
std::string change_words(const ComparisonRow& row);
// Returns "2 regressions, 1 improvement, 30 the same, 3 inconclusive; worst: ...".
std::string comparison_words(const Comparison& comparison);

// Returns the comparison as JSON, with the exit code that it led to. `resamples`: includes the
// resamples of every interval, so that anyone can reproduce it.
std::string comparison_json(const Comparison& comparison, const ComparisonSources& sources,
                            const ToolInfo& tool, int exit_code, bool resamples);
std::string comparison_schema();

}  // namespace mgpu
