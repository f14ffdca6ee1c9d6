// The subcommands, one file each. Each prints to stdout, warns on stderr, and returns its exit code
// or throws Error.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "app/cli.hpp"
#include "app/environment.hpp"
#include "app/exit_codes.hpp"
#include "lib/exec/backend.hpp"
#include "lib/plan/strategy.hpp"

namespace mgpu {

struct Context {
  const Invocation& invocation;
  const Environment& environment;
  std::span<const SuiteInfo> suites;
  ToolInfo tool;
  // Called only by commands that need devices: making a backend loads drivers.
  std::function<std::unique_ptr<Backend>()> make_backend;
};

ExitCode cmd_devices(const Context& context);
ExitCode cmd_calibrate(const Context& context);
ExitCode cmd_links(const Context& context);
ExitCode cmd_check(const Context& context);
ExitCode cmd_list(const Context& context);
ExitCode cmd_run(const Context& context);
ExitCode cmd_simulate(const Context& context);
ExitCode cmd_plan(const Context& context);
ExitCode cmd_report(const Context& context);
ExitCode cmd_compare(const Context& context);
ExitCode cmd_gate(const Context& context);
ExitCode cmd_merge(const Context& context);
ExitCode cmd_history(const Context& context);
ExitCode cmd_trend(const Context& context);
ExitCode cmd_profile(const Context& context);
ExitCode cmd_trace(const Context& context);
ExitCode cmd_schema(const Context& context);
ExitCode cmd_completion(const Context& context);
ExitCode cmd_manual(const Context& context);
ExitCode cmd_init(const Context& context);

// Returns the names that -s accepts: every strategy, then `auto`, which chooses from them.
std::vector<StrategyInfo> listed_strategies();
// Formats a parameter: "dynamic:chunks=0 (0 to 4096): chunks per device".
std::string strategy_param_text(const StrategyInfo& strategy, const StrategyParam& param);

}  // namespace mgpu
