// `mgpu-bench schema`: prints the published JSON Schemas, which are compiled in.
#include "app/commands.hpp"
#include "app/terminal.hpp"
#include "lib/base/error.hpp"
#include "lib/report/record_json.hpp"

namespace mgpu {

ExitCode cmd_schema(const Context& context) {
  if (context.invocation.arguments.at(0) == "trace")
    throw Error(ErrorKind::usage,
                "schema: there is none of traces any more; use a reader of Chrome's trace events, "
                "such as https://ui.perfetto.dev");
  print_data(schema_text(context.invocation.arguments.at(0)));
  return ExitCode::ok;
}

}  // namespace mgpu
