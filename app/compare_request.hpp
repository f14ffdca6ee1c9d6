// Request of `compare`, read and checked before anything is measured.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "app/settings.hpp"
#include "lib/base/output_file.hpp"
#include "lib/report/comparison.hpp"

namespace mgpu {

enum class FailOn { nothing, regression, inconclusive };

struct CompareRequest {
  std::string base, fresh;  // files; with `rounds`, programs and their settings
  CompareOptions options;
  FailOn fail_on = FailOn::regression;
  bool ignore_environment = false, allow_missing = false, with_resamples = false, json = false,
       quiet = false;
  std::size_t confirm = 0;  // times that regressed cases are measured again
  std::size_t rounds = 0;   // interleaved rounds; 0: files are compared
  std::string with;         // run arguments that both sides share in a round
  std::optional<std::filesystem::path> result_file, markdown_file;
  OutputFiles outputs;  // opened result_file and markdown_file
};

// Reads the request. Throws Error(usage), naming the option, its value and what is expected;
// Error(output) for a file that cannot be written.
CompareRequest read_compare_request(const Settings& settings,
                                    const std::vector<std::string>& arguments);

}  // namespace mgpu
