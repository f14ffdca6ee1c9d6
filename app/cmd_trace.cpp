// `mgpu-bench trace`: a saved result as a Chrome trace, and the check of such a file. Needs no
// device.
#include <fmt/format.h>

#include "app/commands.hpp"
#include "app/terminal.hpp"
#include "lib/base/error.hpp"
#include "lib/base/text_file.hpp"
#include "lib/report/record_json.hpp"
#include "lib/report/trace_writer.hpp"

namespace mgpu {
namespace {

std::string text_of(const std::string& file) {
  try {
    return read_text_file(file);
  } catch (const Error& error) {
    throw Error(ErrorKind::input, file + ": " + error.what());
  }
}

ExitCode check(const std::string& file) {
  const std::vector<std::string> breaches = check_chrome_trace(text_of(file));
  for (const std::string& breach : breaches) print_error(file + ": " + breach);
  if (!breaches.empty())
    throw Error(ErrorKind::input,
                fmt::format("{}: breaks {} rules of trace files", file, breaches.size()));
  print(file + ": obeys the rules of trace files\n");
  return ExitCode::ok;
}

}  // namespace

ExitCode cmd_trace(const Context& context) {
  const Settings& settings = context.invocation.settings;
  const std::string file = context.invocation.arguments.at(0);
  const Given* output = settings.find("trace");
  if (settings.is_on("check")) {
    if (output != nullptr)
      throw Error(ErrorKind::usage, output->from + ": nothing is written with --check");
    return check(file);
  }
  OutputFiles outputs;
  if (output != nullptr) outputs.add(output->value);
  const std::string trace = to_chrome_trace(read_report(file));
  if (output != nullptr) {
    outputs.at(output->value).write(trace);
  } else {
    print_json(trace);
  }
  return ExitCode::ok;
}

}  // namespace mgpu
