// `mgpu-bench trace`: converts a saved result to a Chrome trace. Needs no device.
#include "app/commands.hpp"
#include "app/terminal.hpp"
#include "lib/base/error.hpp"
#include "lib/base/output_file.hpp"
#include "lib/report/profile_report.hpp"
#include "lib/report/record_json.hpp"
#include "lib/report/trace_writer.hpp"

namespace mgpu {
ExitCode cmd_trace(const Context& context) {
  const Settings& settings = context.invocation.settings;
  const std::string file = context.invocation.arguments.at(0);
  const Given* output = settings.find("output");
  OutputFiles outputs;
  if (output != nullptr) outputs.add(output->value);
  const auto write = [&](const std::string& trace) {
    if (output != nullptr) {
      outputs.at(output->value).write(trace);
    } else {
      print_json(trace);
    }
    return ExitCode::ok;
  };
  if (is_profile(file)) return write(profile_trace(read_profile(file)));
  const Report report = read_report(file);
  if (is_links(report))
    throw Error(
        ErrorKind::input,
        file + ": has no timeline, as links made it; expected: a result of run or simulate");
  if (lacks_timelines(report))
    throw Error(ErrorKind::input, file +
                                      ": the file holds no timeline (--no-timeline); expected: a "
                                      "result of run without that option");
  return write(to_chrome_trace(report));
}

}  // namespace mgpu
