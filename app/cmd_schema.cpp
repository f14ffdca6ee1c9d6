// `mgpu-bench schema`: the published JSON Schemas, as they were compiled in.
#include "app/commands.hpp"
#include "app/terminal.hpp"
#include "lib/report/record_json.hpp"

namespace mgpu {

ExitCode cmd_schema(const Context& context) {
  print_data(schema_text(context.invocation.arguments.at(0)));
  return ExitCode::ok;
}

}  // namespace mgpu
