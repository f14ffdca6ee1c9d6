// `mgpu-bench report`: prints the tables of a saved result or its JSON, and makes the files of
// --export from it. Needs no device.
#include "app/commands.hpp"
#include "app/finish_run.hpp"
#include "app/problems.hpp"
#include "app/terminal.hpp"
#include "lib/base/error.hpp"
#include "lib/report/case_selection.hpp"
#include "lib/report/exports.hpp"
#include "lib/report/profile_report.hpp"
#include "lib/report/record_json.hpp"

namespace mgpu {

namespace {

ExitCode report_saved_profile(const std::string& file, bool json, const TableStyle& style,
                              const std::vector<ExportFile>& exports,
                              const std::vector<Requirement>& requirements) {
  if (!exports.empty() || !requirements.empty())
    throw Error(ErrorKind::usage,
                file +
                    ": is a profile, which has no cases for --export and --require; expected: "
                    "a result of run or links");
  const ProfileReport report = read_profile(file);
  if (json) {
    print_json(profile_json(report));
  } else {
    print(profile_text(report, style));
  }
  return ExitCode::ok;
}

}  // namespace

ExitCode cmd_report(const Context& context) {
  const Settings& settings = context.invocation.settings;
  const TableStyle style = table_style(settings, context.environment);
  const std::vector<ExportFile> exports = read_exports(settings, export_kinds());
  const std::vector<Requirement> requirements = read_requirements(settings);
  OutputFiles outputs;
  add_outputs(exports, outputs);
  const bool json = settings.is_on("json");
  refuse_two_on_standard_output(json, outputs);
  const std::string file = context.invocation.arguments.at(0);
  if (is_profile(file)) return report_saved_profile(file, json, style, exports, requirements);
  Report report = read_report(file);
  const bool contradicts_itself = warn_of_contradictions(file, report);
  if (const Given* where = settings.find("where")) select_cases(where->from, where->value, report);
  warn_of_interruption(file, report);
  if (const std::string when = measured_words(report); !when.empty())
    print_error(file + ": " + when);
  if (contradicts_itself && !requirements.empty())
    throw Error(ErrorKind::input,
                file +
                    ": contradicts itself, so that it meets no --require; expected: a file as "
                    "mgpu-bench wrote it");
  const std::string text = json ? to_json_text(report) : "";
  complete_defaults(report, context.suites);
  const std::vector<Miss> missed = misses(report, requirements);
  std::vector<ExitCode> codes;
  if (!write_exports(report, exports, missed, outputs, true)) codes.push_back(ExitCode::internal);
  codes.push_back(tell_misses(missed));
  if (json) print_json(text);
  if (json || outputs.take_standard_output()) return worst(codes);
  RunObserver observer({.tables = style});
  print_results(report, observer, style);
  return worst(codes);
}

}  // namespace mgpu
