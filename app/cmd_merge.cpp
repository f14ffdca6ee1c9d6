// `mgpu-bench merge`: makes one result file of several. Needs no device.
#include "app/commands.hpp"
#include "app/problems.hpp"
#include "app/terminal.hpp"
#include "lib/base/error.hpp"
#include "lib/base/output_file.hpp"
#include "lib/report/merge.hpp"
#include "lib/report/record_json.hpp"

namespace mgpu {

ExitCode cmd_merge(const Context& context) {
  const Settings& settings = context.invocation.settings;
  const Given* result = settings.find("result");
  const std::vector<std::string>& names = context.invocation.arguments;
  if (result == nullptr || names.empty())
    throw Error(ErrorKind::usage,
                "merge: it needs -o FILE and the files to merge; see mgpu-bench merge --help");
  OutputFiles outputs;
  OutputFile& output = outputs.add(result->value);
  std::vector<NamedReport> files;
  for (const std::string& name : names) {
    files.push_back({name, read_report(name)});
    warn_of_interruption(name, files.back().report);
    warn_of_contradictions(name, files.back().report);
  }
  MergedReport merged =
      merge_reports(std::move(files), context.tool, settings.is_on("ignore-environment"));
  for (const std::string& remark : merged.remarks) print_error("warning: " + remark);
  merged.report.timelines = !settings.is_on("no-timeline");
  output.write(to_json_text(merged.report));
  return ExitCode::ok;
}

}  // namespace mgpu
