// `mgpu-bench simulate`: runs a session like that of run, on devices and work that a file
// describes.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "app/commands.hpp"
#include "app/device_set.hpp"
#include "app/finish_run.hpp"
#include "app/signals.hpp"
#include "app/simulate_nodes.hpp"
#include "app/terminal.hpp"
#include "lib/base/error.hpp"
#include "lib/base/quote.hpp"
#include "lib/exec/wall_clock.hpp"
#include "lib/report/record_json.hpp"
#include "lib/report/scenario_json.hpp"
#include "lib/session/recorded_params.hpp"
#include "lib/session/simulated.hpp"

namespace mgpu {
namespace {

// Default number of samples: the first, one after learning from it, and one that shows whether that
// helped.
constexpr std::size_t kSamples = 3;

struct NamedScenario {
  Scenario scenario;
  std::string source;        // file that it was read from, for the result file
  std::optional<Mode> mode;  // mode in which its devices were measured; none: they suit any mode
};

NamedScenario from_result(const Given& file, const Settings& settings) {
  const Report report = read_report(file.value);
  try {
    const std::size_t run = settings.has("case") ? count_setting(settings, "case", 0, 0)
                                                 : largest_estimated_run(report);
    const bool predicted = settings.is_on("as-predicted");
    return {scenario_of(report, run, predicted ? Figures::predicted : Figures::measured),
            fmt::format("{}, case {}: {}, {}{}", file.value, run, report.runs[run].strategy,
                        words_of(report.runs[run].mode), predicted ? ", as predicted" : ""),
            report.runs[run].mode};
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::usage) throw;
    throw Error(ErrorKind::input, fmt::format("{}: {}: {}", file.from, file.value, error.what()));
  }
}

NamedScenario read_named_scenario(const Invocation& invocation) {
  const Given* from = invocation.settings.find("from");
  if ((from != nullptr) == !invocation.arguments.empty() || invocation.arguments.size() > 1) {
    throw Error(
        ErrorKind::usage,
        "simulate: it needs a scenario FILE or --from RESULT; see mgpu-bench simulate --help");
  }
  if (from != nullptr) return from_result(*from, invocation.settings);
  if (invocation.settings.has("case"))
    throw Error(ErrorKind::usage, "--case: only with --from, whose cases it counts");
  if (invocation.settings.is_on("as-predicted")) {
    throw Error(ErrorKind::usage, "--as-predicted: only with --from, whose cases were predicted");
  }
  return {read_scenario(invocation.arguments.front()), invocation.arguments.front(), std::nullopt};
}

// Adds devices like the last one until there are as many as --grow-to asks for.
void grow_as_asked(NamedScenario& named, const Settings& settings) {
  const Given* asked = settings.find("grow-to");
  if (asked == nullptr) return;
  Scenario& scenario = named.scenario;
  const std::size_t before = scenario.devices.size(),
                    devices = count_setting(settings, "grow-to", before, before);
  const std::size_t most = scenario.exchange.any() ? kMostLinkedDevices : kMostScenarioDevices;
  if (devices > most) {
    throw Error(ErrorKind::usage,
                fmt::format("{}: {} is too many{}; expected: {} to {}", asked->from,
                            in_quotes(asked->value),
                            scenario.exchange.any() ? " for devices that exchange data" : "",
                            before, most));
  }
  if (devices == before) return;
  grow(scenario, devices);
  named.source += fmt::format(", with {} devices like its last", devices - before);
}

// Replaces the scenario's node by all of its nodes, for a session.
void make_nodes(NamedScenario& named) {
  Scenario& scenario = named.scenario;
  if (!scenario.nodes || scenario.nodes->count == 1) return;
  const std::size_t devices = scenario.nodes->count * scenario.devices.size();
  if (devices > kMostScenarioDevices) {
    throw Error(ErrorKind::input,
                fmt::format("{}: nodes.count: {} devices in all, each of which is a case of its "
                            "own here; expected: up to "
                            "{}, or --nodes {}, which simulates them together only",
                            named.source, devices, kMostScenarioDevices, scenario.nodes->count));
  }
  scenario = on_nodes(scenario, scenario.nodes->count);
  check_extent(scenario);
}

}  // namespace

ExitCode cmd_simulate(const Context& context) {
  outlive_readers();
  install_stop_signals();
  const Settings& settings = context.invocation.settings;
  NamedScenario named = read_named_scenario(context.invocation);
  grow_as_asked(named, settings);
  read_network(settings, named.scenario);
  if (settings.has("nodes"))
    return simulate_nodes(context, named.scenario, named.source, named.mode);
  make_nodes(named);
  const Scenario& scenario = named.scenario;
  const SuiteInfo suite = scenario_suite(scenario);

  RunRequest request = read_measurement(settings, std::array{&suite});
  SessionOptions& session = request.session;
  // Times in one mode say nothing of another: a case is simulated in its own mode, unless --mode
  // asks for others.
  if (named.mode && !settings.has("mode") &&
      std::find(session.modes.begin(), session.modes.end(), *named.mode) != session.modes.end())
    session.modes = {*named.mode};
  if (session.stop.exactly == 0) session.stop.exactly = kSamples;
  session.problems = {{&suite, {}}};
  session.problems.front().params.size = suite.default_size;
  session.devices = devices_of(scenario);
  if (!settings.has("peer")) session.peer = scenario.peer;
  read_output_files(settings, request);
  const TableStyle style = table_style(settings, context.environment);
  RunObserver observer(RunObserver::options_of(request, style, context.environment));
  std::vector<std::string> warnings;
  session.device_counts = device_counts(request, session.devices.size(), warnings);
  for (const std::string& warning : warnings) observer.warning(warning);

  Report begun;
  begun.tool = context.tool;
  begun.environment = describe_environment(context.environment);
  begun.environment["simulated"] = named.source;
  begun.options = recorded_options(request, simulate_options());
  begun.timelines = !settings.is_on("no-timeline");
  begun.started = utc_now();
  begun.defaults = default_params(session.problems);
  begun.defaults[suite.name]["seed"] =
      static_cast<std::int64_t>(session.problems.front().params.seed);  // nothing is random here
  const Report report = simulate_session(scenario, session, std::move(begun), observer);
  return finish_run(report, request, observer, style);
}

}  // namespace mgpu
