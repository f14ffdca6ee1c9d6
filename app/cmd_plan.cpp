// `mgpu-bench plan`: shows how the automatic choice would run a problem, and why, from cached
// calibrations. Runs nothing.
#include <fmt/format.h>

#include <array>
#include <utility>

#include "app/calibrations.hpp"
#include "app/commands.hpp"
#include "app/device_set.hpp"
#include "app/handicaps.hpp"
#include "app/run_request.hpp"
#include "app/sizes.hpp"
#include "app/terminal.hpp"
#include "lib/base/error.hpp"
#include "lib/base/printable.hpp"
#include "lib/base/quantity.hpp"
#include "lib/report/documents.hpp"
#include "lib/report/record_json.hpp"
#include "lib/report/scenario_json.hpp"
#include "lib/report/shares.hpp"
#include "lib/report/table_writer.hpp"
#include "lib/session/planning.hpp"
#include "lib/session/simulated.hpp"

namespace mgpu {
namespace {

constexpr std::size_t kShown = 6;       // candidates shown, and the chosen one
constexpr std::size_t kNamed = 16;      // devices listed by name
constexpr std::size_t kReasonHang = 4;  // indent of continuation lines

std::vector<std::string> chosen_devices(const PlannedCase& planned,
                                        std::span<const Device> devices) {
  std::vector<std::string> ids;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (planned.choice.uses[i]) ids.push_back(devices[i].id);
  }
  return ids;
}

std::string devices_in_words(const PlannedCase& planned, std::span<const Device> devices) {
  const std::vector<std::string> ids = chosen_devices(planned, devices);
  if (ids.size() <= kNamed) return fmt::format("{}", fmt::join(ids, ", "));
  return fmt::format("{}, .. {}: {} devices", fmt::join(ids.begin(), ids.begin() + 2, ", "),
                     ids.back(), ids.size());
}

std::string title(const Problem& problem, Mode mode) {
  return fmt::format("{} {}={}, {}", problem.suite->name, problem.suite->size_name,
                     format_count(problem.params.size), words_of(mode));
}

std::vector<DeviceShare> shares_of(const PlannedCase& planned, std::span<const Device> devices) {
  std::vector<DeviceShare> shares;
  for (std::size_t i = 0; i < planned.shares.size(); ++i)
    shares.push_back({devices[i].id, planned.shares[i]});
  return shares;
}

// Returns "held back by balance: without it, 1.20 ms (5 % less)".
std::string bottleneck_words(const PlannedCase& planned) {
  const std::string& name = planned.bottleneck.name;
  if (name == "none") return "nothing but the work itself holds it back";
  const std::optional<Nanos> time = time_without(planned.bottleneck);
  const Nanos predicted = planned.choice.chosen.predicted;
  if (!time || predicted <= Nanos{}) return "";
  return fmt::format("held back by {}: without it, {} ({:.0f} % less)", what_if_word(name),
                     format_duration(*time), (1 - seconds(*time) / seconds(predicted)) * 100);
}

// Returns "one device per 10,000 leaves, at most 4, in equal shares: 2 devices would take 2.40 ms,
// 1.20 times as long".
std::string rule_words(const PlannedCase& planned) {
  if (!planned.by_rule) return "";
  const std::size_t devices = planned.by_rule->devices;
  return fmt::format(
      "one device per 10,000 {}, at most 4, in equal shares: {} device{} would take {}, {:.2f} "
      "times as long",
      planned.unit.name.empty() ? "items" : planned.unit.name, devices, devices == 1 ? "" : "s",
      format_duration(planned.by_rule->predicted),
      seconds(planned.by_rule->predicted) / seconds(planned.choice.chosen.predicted));
}

std::string as_text(const SessionOptions& session, std::span<const PlannedCase> cases) {
  std::string text;
  for (const PlannedCase& planned : cases) {
    const Candidate& chosen = planned.choice.chosen;
    text += fmt::format("{}{}: {} on {}\n", text.empty() ? "" : "\n",
                        printable(title(session.problems.front(), planned.mode)),
                        chosen.strategy->name, devices_in_words(planned, session.devices));
    for (const std::string& line :
         {split_sentence(shares_of(planned, session.devices), planned.unit),
          bottleneck_words(planned)})
      if (!line.empty()) text += "  " + printable(line) + "\n";
    for (const std::string& reason : planned.choice.reasons)
      text += "  " + printable(reason) + "\n";
    if (const std::string rule = rule_words(planned); !rule.empty())
      text += "  " + printable(rule) + "\n";
    text += "  considered:\n";
    for (std::size_t i = 0; i < planned.choice.considered.size(); ++i) {
      const Candidate& candidate = planned.choice.considered[i];
      const bool is_chosen =
          candidate.strategy == chosen.strategy && candidate.devices == chosen.devices;
      if (i < kShown || is_chosen)
        text +=
            fmt::format("  {} {:<14}{:>3} device{} {:>10}{}\n", is_chosen ? '*' : ' ',
                        candidate.strategy->name, candidate.devices,
                        candidate.devices == 1 ? " " : "s", format_duration(candidate.predicted),
                        candidate.joules > 0 ? fmt::format(" {:>8.3g} J", candidate.joules) : "");
    }
  }
  return text;
}

std::string as_json(const SessionOptions& session, std::span<const PlannedCase> cases) {
  std::vector<ListedPlan> plans;
  const Problem& problem = session.problems.front();
  for (const PlannedCase& planned : cases) {
    ListedPlan& plan = plans.emplace_back(ListedPlan{problem.suite->name,
                                                     problem.suite->size_name,
                                                     problem.params.size,
                                                     planned.mode,
                                                     chosen_devices(planned, session.devices),
                                                     planned.choice,
                                                     {},
                                                     planned.bottleneck.name,
                                                     planned.by_rule});
    for (std::size_t i = 0; i < planned.shares.size(); ++i)
      if (planned.choice.uses[i]) plan.items.push_back(planned.shares[i]);
  }
  return plan_json(plans);
}

ExitCode deliver(const Context& context, const SessionOptions& session,
                 std::span<const PlannedCase> cases, bool json) {
  if (json) {
    print_json(as_json(session, cases));
  } else {
    print(wrapped_prose(as_text(session, cases),
                        table_style(context.invocation.settings, context.environment),
                        kReasonHang));
  }
  return ExitCode::ok;
}

// Warns of devices that become slow during the work, which no strategy knows before.
void add_late_slow_downs(std::span<const Handicap> handicaps, DeviceSet& set) {
  for (std::size_t i = 0; i < handicaps.size(); ++i)
    if (handicaps[i].slows() && !handicaps[i].slows_always())
      set.warnings.push_back(
          fmt::format("--slow: device {} is planned for as it is at first", set.devices[i].id));
}

// Plans for the hypothetical devices and nodes that a scenario file describes.
ExitCode plan_of_scenario(const Context& context) {
  const Settings& settings = context.invocation.settings;
  if (!context.invocation.arguments.empty())
    throw Error(ErrorKind::usage,
                "plan: a suite or --scenario, not both: a scenario has its own work");
  Scenario scenario = read_scenario(settings.find("scenario")->value);
  const SuiteInfo suite = scenario_suite(scenario);
  if (scenario.nodes) scenario = on_nodes(scenario, scenario.nodes->count);
  RunRequest request = read_measurement(settings, std::array{&suite});
  request.session.problems = {{&suite, {}}};
  request.session.problems.front().params.size = suite.default_size;
  request.session.devices = devices_of(scenario);
  std::vector<PlannedCase> cases;
  for (const Mode mode : request.session.modes) cases.push_back(plan_scenario(scenario, mode));
  return deliver(context, request.session, cases, settings.is_on("json"));
}

}  // namespace

ExitCode cmd_plan(const Context& context) {
  if (context.invocation.settings.has("scenario")) return plan_of_scenario(context);
  if (chosen_suites(context.invocation, context.suites).size() != 1)
    throw Error(ErrorKind::usage, "plan: it needs one SUITE, --kernel FILE or --scenario FILE");
  RunRequest request = read_run_request(context.invocation, context.suites, host_memory());
  if (request.session.problems.size() != 1 || request.sizes == Sizes::sweep)
    throw Error(ErrorKind::usage, "--size: plan takes one size");
  const std::unique_ptr<Backend> backend = context.make_backend();
  DeviceSet set = choose_devices(*backend, context);
  const KnownSizes known =
      request.sizes_of ? sizes_of(read_report(*request.sizes_of), context.suites) : KnownSizes();
  choose_sizes(context, *backend, set.devices, set.devices.size(), known, false, request,
               set.warnings);
  if (request.session.problems.size() != 1)
    throw Error(ErrorKind::usage, fmt::format("--sizes-of: {} sizes; plan takes one",
                                              request.session.problems.size()));
  calibrate_for_run(context, *backend, set.devices, request.session, set.warnings, false);
  request.session.handicaps = handicaps_of(request.handicaps, set.devices);
  add_late_slow_downs(request.session.handicaps, set);
  request.session.devices = std::move(set.devices);
  for (const std::string& warning : set.warnings) print_error("warning: " + warning);
  require_calibration(context, request.session);
  const std::vector<PlannedCase> cases = plan_problem(*backend, request.session);
  for (const std::string& line :
       unsplit_problems(request.session.problems, request.session.devices.size()))
    print_error(line);
  return deliver(context, request.session, cases, request.json);
}

}  // namespace mgpu
