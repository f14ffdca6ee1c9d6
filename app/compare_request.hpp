// Request of `compare`, read and checked before anything is measured.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "app/cli.hpp"
#include "app/exports.hpp"
#include "lib/base/output_file.hpp"
#include "lib/report/comparison.hpp"

namespace mgpu {

enum class FailOn { nothing, regression, inconclusive };

struct CompareRequest {
  std::vector<std::string> base, fresh;  // files; with `rounds`, one program and its settings each
  CompareOptions options;
  FailOn fail_on = FailOn::regression;
  bool ignore_environment = false, allow_missing = false, with_resamples = false, json = false,
       quiet = false;
  std::vector<std::string> ignored;  // fields of the environment that may differ
  bool only_changed = false;
  std::size_t confirm = 0;  // times that cases that look slower are measured again
  std::size_t rounds = 0;   // interleaved rounds; 0: files are compared
  std::string with;         // run arguments that both sides share in a round
  std::optional<std::filesystem::path> result_file, markdown_file;
  std::vector<ExportFile> exports;
  OutputFiles outputs;  // opened result_file, markdown_file and exports
};

// Reads the request. `argv`: the command line, in which "--" separates several BASE from NEW.
// Throws Error(usage), naming the option, its value and what is expected; Error(output) for a file
// that cannot be written.
CompareRequest read_compare_request(const Invocation& invocation);

}  // namespace mgpu
