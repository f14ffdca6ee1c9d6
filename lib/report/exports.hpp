// Exports a result to the formats of other tools. Cases that are not ok have no figures: csv,
// samples and junit give their status, and the others omit them. Nothing here is read back.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/report/record.hpp"
#include "lib/report/requirement.hpp"

namespace mgpu {

// Returns the kinds of exports:
//   googlecpp  Google Benchmark JSON, an entry per sample and one for the median of the case: for
//              compare.py of Google Benchmark, github-action-benchmark, Bencher's cpp_google,
//              Conbench
//   bmf        Bencher Metric Format: every measure of a case with its bounds
//   csv        one line per case, RFC 4180
//   samples    the same, one line per case and sample; every file has the same columns
//   markdown   one table per problem
//   junit      a test case per case; `missed` requirements, and faults under --strict, are
//              failures; other faults are mentioned
// In googlecpp and bmf, a case measured on fewer devices than requested is a series of its own.
std::vector<std::string_view> export_kinds();

// Throws Error(internal) for an unknown kind.
std::string exported(std::string_view kind, const Report& report, const std::vector<Miss>& missed);

}  // namespace mgpu
