// A comparison for people: a table for a terminal, Markdown for the summary of a CI job, JSON
// (schema "mgpu-bench/compare") for scripts.
#pragma once

#include <string>
#include <vector>

#include "lib/report/comparison.hpp"
#include "lib/report/table_writer.hpp"

namespace mgpu {

// Where the two sides came from: file names, or what was run.
struct ComparisonSources {
  std::string base, fresh;
};

// One table per suite, parameters and mode; what was not compared; what differs about the machine;
// a closing line.
std::string comparison_tables(const Comparison& comparison, const TableStyle& style);
// "dev", "change", ...: what a user chooses columns by, besides strategy, metric, BASE and NEW, in
// their order.
std::vector<std::string> comparison_column_names();
std::string comparison_markdown(const Comparison& comparison, const ComparisonSources& sources);
// "2 regressions, 1 improvement, 30 the same, 3 inconclusive; worst: ..."
std::string comparison_words(const Comparison& comparison);

// With the resamples every interval was made from when asked for: then anyone can make it again.
std::string comparison_json(const Comparison& comparison, const ComparisonSources& sources,
                            const ToolInfo& tool, bool resamples);
std::string comparison_schema();

}  // namespace mgpu
