// Prints a comparison: a table for a terminal, Markdown for the summary of a CI job, JSON (schema
// "mgpu-bench/compare") for scripts.
#pragma once

#include <string>
#include <vector>

#include "lib/report/comparison.hpp"
#include "lib/report/table_writer.hpp"

namespace mgpu {

// Origins of the two sides: file names, or commands that were run.
struct ComparisonSources {
  std::string base, fresh;
};

// Returns one table per suite, parameters and mode; cases that were not compared; differences
// between the machines; a summary line.
std::string comparison_tables(const Comparison& comparison, const TableStyle& style);
// Returns the names by which a user chooses columns ("dev", "change", ...), in their order. The
// columns strategy, metric, BASE and NEW are always there.
std::vector<std::string> comparison_column_names();
std::string comparison_markdown(const Comparison& comparison, const ComparisonSources& sources);
// Returns "2 regressions, 1 improvement, 30 the same, 3 inconclusive; worst: ...".
std::string comparison_words(const Comparison& comparison);

// Returns the comparison as JSON. `resamples`: includes the resamples of every interval, so that
// anyone can reproduce it.
std::string comparison_json(const Comparison& comparison, const ComparisonSources& sources,
                            const ToolInfo& tool, bool resamples);
std::string comparison_schema();

}  // namespace mgpu
