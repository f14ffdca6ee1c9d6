// The text of JSON and CSV files of terms, not interpreted yet. terms_file.hpp describes the
// formats.
#pragma once

#include <filesystem>
#include <istream>
#include <optional>
#include <string>
#include <vector>

namespace mgpu::msm {

struct TermText {
  std::string scalar, x, y;
};

struct TermsText {
  std::optional<std::string> curve;  // set if the file names one
  std::vector<TermText> terms;
};

// Read `in`, the contents of `file`. Throw Error(input) that names the term and, in a CSV file, its
// line.
TermsText read_json_terms(std::istream& in, const std::filesystem::path& file);
TermsText read_csv_terms(std::istream& in, const std::filesystem::path& file);

// Returns "term 7 (line 9): ".
std::string csv_term(std::uint64_t i);
// Throws Error(input) that names the file.
[[noreturn]] void refuse_terms(const std::filesystem::path& file, const std::string& why);

}  // namespace mgpu::msm
