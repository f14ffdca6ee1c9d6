// argv -> exit code. The only place where every exception ends.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <exception>

#include "app/cli.hpp"
#include "app/commands.hpp"
#include "app/rank.hpp"
#include "app/saved_results.hpp"
#include "app/terminal.hpp"
#include "lib/base/embedded.hpp"
#include "lib/exec/cl_backend.hpp"
#include "suites/suites.hpp"

const char* mgpu_git_version();  // written by cmake/git_version.cmake

namespace mgpu {
namespace {

ExitCode dispatch(const Context& context) {
  const std::string& command = context.invocation.command;
  if (command == "devices") return cmd_devices(context);
  if (command == "calibrate") return cmd_calibrate(context);
  if (command == "links") return cmd_links(context);
  if (command == "list") return cmd_list(context);
  if (command == "run") return cmd_run(context);
  if (command == "plan") return cmd_plan(context);
  if (command == "simulate") return cmd_simulate(context);
  if (command == "report") return cmd_report(context);
  if (command == "compare") return cmd_compare(context);
  if (command == "trace") return cmd_trace(context);
  if (command == "schema") return cmd_schema(context);
  if (command == "completion") return cmd_completion(context);
  if (command == "init") return cmd_init(context);
  if (command == "manual") return cmd_manual(context);
  throw Error(ErrorKind::internal, "a command without code: " + command);
}

// `cluster`: where this is rank 0 of several, which leave together when the exit code is known.
ExitCode run_main(const std::vector<std::string>& argv, std::unique_ptr<Cluster>& cluster) {
  pin_pocl_threads();
  const Environment environment = Environment::of_process();
  const std::string git = mgpu_git_version();
  const std::string version =
      fmt::format("mgpu-bench {} (git {})", MGPU_VERSION, git.empty() ? "unknown" : git);
  const auto make_own_backend = [&] {
    return make_cl_backend({embedded_kernels(), cache_directory(environment)});
  };
  const auto parse = [&] {
    return parse_command_line(argv, all_suites(), environment,
                              fmt::format("{}\nresult schema {}\n", version, kResultSchemaVersion));
  };
  const std::optional<Launch> launch = launch_of(environment);
  if (launch && launch->rank > 0) {
    std::string command;
    try {
      command = parse().command;
    } catch (const Error&) {  // rank 0 says so
    }
    return serve_rank(*launch, command, argv, version, make_own_backend());
  }
  Invocation invocation = parse();
  if (invocation.command.empty()) {
    print_data(invocation.text);
    return ExitCode::ok;
  }
  for (const std::string& warning : invocation.warnings) print_error("warning: " + warning);
  if (launch) cluster = join_ranks(*launch, invocation.command, argv, version, make_own_backend());
  resolve_saved_results(invocation, environment);
  const auto make_backend = [&] { return cluster ? cluster->backend() : make_own_backend(); };
  return dispatch({invocation, environment, all_suites(), {MGPU_VERSION, git, argv}, make_backend});
}

int code_of(const std::vector<std::string>& argv, std::unique_ptr<Cluster>& cluster) {
  try {
    return static_cast<int>(run_main(argv, cluster));
  } catch (const Error& error) {
    print_error(fmt::format("error: {}", error.what()));
    return static_cast<int>(exit_code(error.kind()));
  } catch (const std::exception& error) {
    print_error(fmt::format("internal error: {}", error.what()));
  }
  return static_cast<int>(ExitCode::internal);
}

int guarded_main(const std::vector<std::string>& argv) {
  std::unique_ptr<Cluster> cluster;
  const int code = code_of(argv, cluster);
  std::fflush(nullptr);
  if (cluster) cluster->leave(code);
  static_cast<void>(cluster.release());  // its thread may be inside a call that does not return
  return code;
}

}  // namespace
}  // namespace mgpu

int main(int argc, char** argv) {
  const int code = mgpu::guarded_main({argv, argv + argc});
  // Always, not only after a hung device: exit handlers of OpenCL drivers wait for their devices,
  // and some crash. What this program owns was destroyed or written above; only the stdio buffers
  // are left.
  std::fflush(nullptr);
  std::_Exit(code);
}
