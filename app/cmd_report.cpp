// `mgpu-bench report`: prints the tables of a saved result, and makes the files of --export from
// it. Needs no device.
#include "app/commands.hpp"
#include "app/exports.hpp"
#include "app/problems.hpp"
#include "app/terminal.hpp"
#include "lib/base/error.hpp"
#include "lib/report/json_file.hpp"
#include "lib/report/links_tables.hpp"
#include "lib/report/size_sweep.hpp"
#include "lib/report/table_writer.hpp"

namespace mgpu {
namespace {

ExitCode report_links(const LinksReport& links, const std::vector<ExportFile>& exports,
                      const OutputFiles& outputs, const std::string& file,
                      const TableStyle& style) {
  if (!links.complete)
    print_error("warning: " + file + ": the measurement was not completed" +
                (links.failure ? " (" + printable(*links.failure) + ")" : "") +
                "; this is what it has");
  const Report cases = as_cases(links);
  if (const std::string when = measured_words(cases); !when.empty())
    print_error(file + ": " + when);
  const bool written = write_exports(cases, exports, {}, outputs, true);
  if (!outputs.take_standard_output()) print_styled(links_tables(links, style), style);
  return written ? ExitCode::ok : ExitCode::internal;
}

}  // namespace

ExitCode cmd_report(const Context& context) {
  const Settings& settings = context.invocation.settings;
  const TableStyle style = table_style(settings, context.environment);
  const std::vector<ExportFile> exports = read_exports(settings);
  const std::vector<Requirement> requirements = read_requirements(settings);
  OutputFiles outputs;
  add_outputs(exports, outputs);
  const std::string file = context.invocation.arguments.at(0);
  AnyResult result = read_any_result(file);
  if (const auto* links = std::get_if<LinksReport>(&result)) {
    if (!requirements.empty())
      throw Error(ErrorKind::usage, "--require: not of a file of links; expected: a result of run");
    return report_links(*links, exports, outputs, file, style);
  }
  Report& report = std::get<Report>(result);
  complete_defaults(report, context.suites);
  if (!report.complete)
    print_error("warning: " + file + ": the run was interrupted; these are the cases it finished");
  if (const std::string when = measured_words(report); !when.empty())
    print_error(file + ": " + when);
  if (warn_of_contradictions(file, report) && !requirements.empty())
    throw Error(ErrorKind::input,
                file +
                    ": contradicts itself, so that it meets no --require; expected: a file as "
                    "mgpu-bench wrote it");
  const std::vector<Miss> missed = misses(report, requirements);
  std::vector<ExitCode> codes;
  if (!write_exports(report, exports, missed, outputs, true)) codes.push_back(ExitCode::internal);
  codes.push_back(tell_misses(missed));
  if (outputs.take_standard_output()) return worst(codes);
  print_styled(run_tables(report, style), style);
  if (const std::string sweeps = sweep_tables(report, style); !sweeps.empty())
    print_styled("\n" + sweeps, style);
  return worst(codes);
}

}  // namespace mgpu
