// `mgpu-bench schema`: prints the published JSON Schemas, which are compiled in.
#include "app/commands.hpp"
#include "app/terminal.hpp"
#include "lib/base/error.hpp"
#include "lib/report/record_json.hpp"

namespace mgpu {

ExitCode cmd_schema(const Context& context) {
  const std::string& name = context.invocation.arguments.at(0);
  if (name == "trace")
    throw Error(ErrorKind::usage,
                "schema: there is none of traces any more; use a reader of Chrome's trace events, "
                "such as https://ui.perfetto.dev");
  if (name == "links")
    throw Error(ErrorKind::usage,
                "schema: there is none of links any more; use that of its files: mgpu-bench schema "
                "result");
  print_data(schema_text(name));
  return ExitCode::ok;
}

}  // namespace mgpu
