#include "app/dispatch.hpp"

#include <fmt/format.h>

#include <exception>

#include "app/signals.hpp"
#include "app/terminal.hpp"
#include "lib/base/error.hpp"

namespace mgpu {

ExitCode run_command(const Context& context) {
  const std::string& command = context.invocation.command;
  if (command == "devices") return cmd_devices(context);
  if (command == "calibrate") return cmd_calibrate(context);
  if (command == "links") return cmd_links(context);
  if (command == "check") return cmd_check(context);
  if (command == "list") return cmd_list(context);
  if (command == "run") return cmd_run(context);
  if (command == "plan") return cmd_plan(context);
  if (command == "simulate") return cmd_simulate(context);
  if (command == "report") return cmd_report(context);
  if (command == "compare") return cmd_compare(context);
  if (command == "gate") return cmd_gate(context);
  if (command == "merge") return cmd_merge(context);
  if (command == "history") return cmd_history(context);
  if (command == "trend") return cmd_trend(context);
  if (command == "profile") return cmd_profile(context);
  if (command == "trace") return cmd_trace(context);
  if (command == "schema") return cmd_schema(context);
  if (command == "completion") return cmd_completion(context);
  if (command == "init") return cmd_init(context);
  if (command == "manual") return cmd_manual(context);
  throw Error(ErrorKind::internal, "a command without code: " + command);
}

int exit_code_of(const std::function<ExitCode()>& work, std::optional<ExitCode> failed) {
  try {
    return static_cast<int>(work());
  } catch (const Error& error) {
    const bool stopped = stop_signal() != 0;
    print_error(stopped ? "interrupted" : fmt::format("error: {}", error.what()));
    return static_cast<int>(stopped ? stop_code() : failed.value_or(exit_code(error.kind())));
  } catch (const std::exception& error) {
    print_error(fmt::format("internal error: {}", error.what()));
  }
  return static_cast<int>(failed.value_or(ExitCode::internal));
}

}  // namespace mgpu
