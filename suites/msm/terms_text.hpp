// What JSON and CSV files of terms say, as text and not yet understood. The formats are described
// in terms_file.hpp.
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
  std::optional<std::string> curve;  // where the file names one
  std::vector<TermText> terms;
};

// From the beginning of `in`, which is `file`. Throw Error(input) that names the term, and in a CSV
// file its line.
TermsText read_json_terms(std::istream& in, const std::filesystem::path& file);
TermsText read_csv_terms(std::istream& in, const std::filesystem::path& file);

// "term 7 (line 9): "
std::string csv_term(std::uint64_t i);
// Throws Error(input), naming the file.
[[noreturn]] void refuse_terms(const std::filesystem::path& file, const std::string& why);

}  // namespace mgpu::msm
