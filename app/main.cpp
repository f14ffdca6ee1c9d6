// argv -> exit code: the process around app/dispatch.hpp.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

#include "app/cli.hpp"
#include "app/dispatch.hpp"
#include "app/other_process.hpp"
#include "app/rank.hpp"
#include "app/saved_results.hpp"
#include "app/signals.hpp"
#include "app/terminal.hpp"
#include "lib/base/embedded.hpp"
#include "lib/opencl/cl_backend.hpp"
#include "suites/suites.hpp"

const char* mgpu_git_version();  // written by cmake/git_version.cmake

namespace mgpu {
namespace {

WaitLimits wait_limits(const Settings& settings) {
  WaitLimits limits;
  if (const Given* given = settings.find("timeout")) limits.answer = read_time(*given);
  if (const Given* given = settings.find("build-timeout")) limits.build = read_time(*given);
  limits.stop = [] { return stop_signal() != 0; };
  return limits;
}

bool is_profile_command(const std::vector<std::string>& argv) {
  return argv.size() > 1 && argv[1] == "profile";
}

// Runs the command of rank 0 or of a lone process. `cluster`: set on rank 0 of several ranks, which
// leave together once the exit code is known.
ExitCode run_main(const std::vector<std::string>& argv, std::unique_ptr<Cluster>& cluster) {
  // The variables of the program that `profile` runs are its own, and so are its ranks.
  const bool profiles = is_profile_command(argv);
  if (!profiles) pin_pocl_threads();
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
  const std::optional<Launch> launch = profiles ? std::nullopt : launch_of(environment);
  if (launch && launch->rank > 0) {
    std::string command;
    try {
      command = parse().command;
    } catch (const Error&) {  // rank 0 reports it
    }
    return serve_rank(*launch, command, argv, version, make_own_backend());
  }
  Invocation invocation = parse();
  if (invocation.command.empty()) {
    print_data(invocation.text);
    return invocation.code;
  }
  for (const std::string& warning : invocation.warnings) print_error("warning: " + warning);
  if (launch) cluster = join_ranks(*launch, invocation.command, argv, version, make_own_backend());
  resolve_saved_results(invocation, environment);
  try_kernels_elsewhere(invocation, all_suites());
  const auto make_backend = [&] {
    // First, so that a signal that comes while drivers are loading is seen, too.
    install_stop_signals();
    auto backend = cluster ? cluster->backend() : make_own_backend();
    backend->limit_waits(wait_limits(invocation.settings));
    return backend;
  };
  return run_command(
      {invocation, environment, all_suites(), {MGPU_VERSION, git, argv}, make_backend});
}

int guarded_main(const std::vector<std::string>& argv) {
  std::unique_ptr<Cluster> cluster;
  const int code =
      exit_code_of([&] { return run_main(argv, cluster); },
                   is_profile_command(argv) ? std::optional(ExitCode::profiler) : std::nullopt);
  std::fflush(nullptr);
  if (cluster) cluster->leave(code);
  static_cast<void>(cluster.release());  // its thread may be inside a call that does not return
  return code;
}

}  // namespace
}  // namespace mgpu

int main(int argc, char** argv) {
  const int code = mgpu::guarded_main({argv, argv + argc});
  // Skips exit handlers always, not only after a hung device: those of OpenCL drivers wait for
  // their devices, and some crash. What this program owns was destroyed or written above; only the
  // stdio buffers are left.
  std::fflush(nullptr);
  std::_Exit(code);
}
