#include "app/exports.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/environment.hpp"
#include "app/terminal.hpp"
#include "lib/base/error.hpp"
#include "lib/base/quote.hpp"
#include "lib/report/exports.hpp"
#include "lib/report/record_json.hpp"

namespace mgpu {
namespace {

void refuse_former_kind(const std::string& from, const std::string& kind) {
  if (kind == "googlecpp-samples" || kind == "gha-bigger" || kind == "gha-smaller")
    throw Error(
        ErrorKind::usage,
        fmt::format("{}: there is no {} any more; use googlecpp, which has every sample "
                    "and the median",
                    from, kind) +
            (kind.starts_with("gha-") ? " (tool googlecpp of github-action-benchmark)" : ""));
}

}  // namespace

std::vector<ExportFile> read_exports(const Settings& settings,
                                     std::span<const std::string_view> kinds) {
  std::vector<ExportFile> exports;
  const Given* given = settings.find("export");
  if (given == nullptr) return exports;
  for (const std::string& text : split_commas(given->value)) {
    const std::size_t equals = text.find('=');
    const std::string kind = text.substr(0, equals);
    refuse_former_kind(given->from, kind);
    const bool known = std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
    if (!known || equals == std::string::npos || equals + 1 == text.size()) {
      throw Error(ErrorKind::usage,
                  fmt::format("{}: {} is not understood; expected: KIND=FILE with one of {}",
                              given->from, in_quotes(text), fmt::join(kinds, ", ")));
    }
    exports.push_back({kind, text.substr(equals + 1)});
  }
  return exports;
}

std::vector<Requirement> read_requirements(const Settings& settings) {
  const Given* given = settings.find("require");
  return given == nullptr ? std::vector<Requirement>{}
                          : parse_requirements(given->from, given->value);
}

void add_outputs(const std::vector<ExportFile>& exports, OutputFiles& outputs) {
  for (const ExportFile& one : exports) outputs.add(one.file, output_mode(one.file));
}

void refuse_two_on_standard_output(bool json, const OutputFiles& outputs) {
  if (json && outputs.take_standard_output())
    throw Error(ErrorKind::usage,
                "--json: another output is on standard output; expected: a file for that one");
}

bool keeps_older(const OutputFile& file, const Report& report, bool force) {
  // A failure replaces older content: a reader must not take that for this run's.
  return !force && file.is_replaced() && file.had_content() &&
         std::none_of(report.runs.begin(), report.runs.end(), [](const RunRecord& run) {
           return run.status == Status::ok || run.status == Status::failed;
         });
}

void tell_kept(const OutputFile& file) {
  print_error(
      fmt::format("warning: {} keeps its older content: nothing was measured (--force "
                  "replaces it)",
                  file.name().string()));
}

bool write_exports(const Report& report, const std::vector<ExportFile>& exports,
                   const std::vector<Miss>& missed, const OutputFiles& outputs, bool force) {
  bool written = true;
  for (const ExportFile& one : exports) {
    try {
      OutputFile& file = outputs.at(one.file);
      if (missed.empty() && keeps_older(file, report, force))
        tell_kept(file);
      else
        file.write(exported(one.kind, report, missed));
    } catch (const Error& error) {
      written = false;
      print_error(std::string("error: ") + error.what());
    }
  }
  return written;
}

ExitCode tell_misses(const std::vector<Miss>& missed) {
  std::vector<ExitCode> codes;
  for (const Miss& miss : missed) {
    print_error(
        (miss.inconclusive ? "requirement not shown to be met: " : "requirement not met: ") +
        miss.what);
    codes.push_back(miss.inconclusive ? ExitCode::inconclusive : ExitCode::regression);
  }
  return worst(codes);
}

}  // namespace mgpu
