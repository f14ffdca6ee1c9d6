// `mgpu-bench init`: a first descriptor for a kernel of the user's own.
#include <fmt/format.h>

#include <algorithm>

#include "app/commands.hpp"
#include "app/device_set.hpp"
#include "app/terminal.hpp"
#include "lib/base/error.hpp"
#include "lib/base/output_file.hpp"
#include "lib/base/quote.hpp"
#include "lib/exec/driver_call.hpp"

namespace mgpu {

ExitCode cmd_init(const Context& context) {
  const Settings& settings = context.invocation.settings;
  const auto text_of = [&](const char* name) {
    const Given* given = settings.find(name);
    return given == nullptr ? std::string() : given->value;
  };
  const auto suite =
      std::find_if(context.suites.begin(), context.suites.end(),
                   [](const SuiteInfo& info) { return info.descriptors.has_value(); });
  if (suite == context.suites.end())
    throw Error(ErrorKind::internal, "no suite takes files of the user's own");
  const std::string file = text_of("output");
  OutputFiles outputs;
  if (!file.empty()) outputs.add(file);
  const std::string& kernel = context.invocation.arguments.at(0);
  StatusLine line;
  const auto builds = [&] {  // a compiler may take many seconds
    if (progress_in_place(context.environment))
      line.show("building " + kernel, error_width());
    else
      print_error("building " + kernel);
  };
  const std::unique_ptr<Backend> backend = context.make_backend();
  const DeviceSet set = every_device(*backend, context.environment);
  const std::unique_ptr<OpenDevice> device = backend->open(set.devices.front());
  std::string text;
  attend(*backend, device.get(), [&] {
    text = suite->descriptors->make_template(
        device->resources(), {kernel, text_of("entry"), text_of("options"), file, builds});
  });
  line.clear();
  if (file.empty())
    print_data(text);
  else
    outputs.at(file).write(text);
  if (!file.empty()) {
    print_error(
        fmt::format("{} is written; fill in what it asks for, then: mgpu-bench run --{} {} "
                    "-s equal",
                    file, suite->descriptors->option, shell_word(file)));
  }
  return ExitCode::ok;
}

}  // namespace mgpu
