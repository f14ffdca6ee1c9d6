// `mgpu-bench report`: the tables of a saved result. Needs no device.
#include "app/commands.hpp"
#include "app/terminal.hpp"
#include "lib/report/record_json.hpp"

namespace mgpu {

ExitCode cmd_report(const Context& context) {
  const TableStyle style = table_style(context.invocation.settings, context.environment);
  const std::string file = context.invocation.arguments.at(0);
  const Report report = read_report(file);
  if (!report.complete) print_error("warning: " + file + ": the run was interrupted; these are the cases it finished");
  print(run_tables(report, style));
  print(closing_words(report));
  return ExitCode::ok;
}

}  // namespace mgpu
