#include "app/simulate_nodes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "app/run_request.hpp"
#include "app/signals.hpp"
#include "app/terminal.hpp"
#include "lib/base/error.hpp"
#include "lib/base/quantity.hpp"
#include "lib/base/quote.hpp"
#include "lib/report/scaling_json.hpp"
#include "lib/session/simulated.hpp"

namespace mgpu {
namespace {

const std::vector<std::string> kNetworkWords{"latency", "bandwidth", "root", "hand-out"};

// Options of sessions that a simulation of nodes does not support.
constexpr std::array kNotWithNodes{"trace",         "export",  "require", "columns",
                                   "device-counts", "samples", "warmup",  "peer"};

double bytes_per_second(const Given& given, std::string_view name, std::string_view text) {
  std::string_view amount = text;
  if (amount.ends_with("/s")) amount.remove_suffix(2);
  const Bytes bytes = parse_bytes(fmt::format("{}: {}", given.from, name), amount);
  if (bytes == 0)
    throw Error(ErrorKind::usage, fmt::format("{}: {} cannot be {}; expected: above 0, as 10GB/s",
                                              given.from, name, in_quotes(text)));
  return static_cast<double>(bytes);
}

// Parses node counts: "1,2,4", or "2..1024", which doubles.
std::vector<std::size_t> read_nodes(const Given& given, const Scenario& scenario) {
  const std::size_t devices =
      scenario.node_devices.empty() ? scenario.devices.size() : scenario.node_devices.back();
  const std::size_t most =
      std::min(kMostNodes, kMostNodeDevices / std::max<std::size_t>(devices, 1));
  const auto number = [&](std::string_view text) {
    const std::uint64_t nodes = parse_count(given.from, text);
    if (nodes == 0 || nodes > most)
      throw Error(ErrorKind::usage,
                  fmt::format("{}: {} nodes; expected: 1 to {} of {} device{}", given.from, nodes,
                              most, devices, devices == 1 ? "" : "s"));
    return static_cast<std::size_t>(nodes);
  };
  std::vector<std::size_t> nodes;
  for (const std::string& term : split_commas(given.value)) {
    const std::size_t dots = term.find("..");
    const std::size_t first = number(term.substr(0, dots));
    const std::size_t last = dots == std::string::npos ? first : number(term.substr(dots + 2));
    if (last < first)
      throw Error(ErrorKind::usage,
                  fmt::format("{}: {} counts down; expected: the smaller one first", given.from,
                              in_quotes(term)));
    for (std::size_t n = first; n < last; n *= 2) nodes.push_back(n);
    nodes.push_back(last);
  }
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  return nodes;
}

}  // namespace

void read_network(const Settings& settings, Scenario& scenario) {
  const Given* given = settings.find("network");
  if (given == nullptr) return;
  if (scenario.nodes)
    throw Error(ErrorKind::usage,
                given->from + ": only with --from; a scenario has its own, nodes");
  if (scenario.node_devices.size() > 1)
    throw Error(ErrorKind::usage, given->from +
                                      ": not with a result of several nodes, whose network is in "
                                      "the figures of their devices");
  ScenarioNodes& nodes = scenario.nodes.emplace();
  for (const std::string& term : split_commas(given->value)) {
    const std::size_t equals = term.find('=');
    const std::string name = term.substr(0, equals),
                      value = equals == std::string::npos ? "" : term.substr(equals + 1);
    if (std::find(kNetworkWords.begin(), kNetworkWords.end(), name) == kNetworkWords.end()) {
      throw Error(ErrorKind::usage,
                  fmt::format("{}: {} is unknown; expected: {}, as latency=20us,bandwidth=10GB/s{}",
                              given->from, in_quotes(name), fmt::join(kNetworkWords, ", "),
                              did_you_mean(name, kNetworkWords)));
    }
    if (name == "latency") nodes.latency = parse_duration(given->from + ": latency", value);
    if (name == "hand-out") nodes.hand_out = parse_duration(given->from + ": hand-out", value);
    if (name == "bandwidth") nodes.bytes_per_s = bytes_per_second(*given, name, value);
    if (name == "root") nodes.root_bytes_per_s = bytes_per_second(*given, name, value);
  }
}

ExitCode simulate_nodes(const Context& context, const Scenario& scenario, const std::string& source,
                        std::optional<Mode> mode) {
  const Settings& settings = context.invocation.settings;
  for (const char* other : kNotWithNodes)
    if (settings.has(other))
      throw Error(
          ErrorKind::usage,
          fmt::format("--{}: not with --nodes, which simulates a sample for each row", other));
  const SuiteInfo suite = scenario_suite(scenario);
  RunRequest request = read_measurement(settings, std::array{&suite});
  if (mode && !settings.has("mode")) request.session.modes = {*mode};
  const Given& asked = *settings.find("nodes");
  const ScalingRequest scaling{
      request.session.strategies, request.session.modes, read_nodes(asked, scenario),
      scenario.nodes ? scenario.nodes->count
                     : std::max<std::size_t>(scenario.node_devices.size(), 1)};
  request.session.problems = {{&suite, {}}};
  read_output_files(settings, request);
  const TableStyle style = table_style(settings, context.environment);
  ScalingReport report{context.tool.version,
                       source,
                       suite.name,
                       scenario.work.rate_unit,
                       scenario.work.cost.ops,
                       scenario.work.granularity,
                       {}};
  const ItemUnit& unit = scenario.work.unit;
  if (!unit.name.empty()) report.counted = unit.name;
  if (unit.count > 0)
    report.counted_per_item =
        static_cast<double>(unit.count) / static_cast<double>(scenario.work.items);
  report.rows =
      simulate_scaling(scenario, scaling, [](const ScalingRow&) { return stop_signal() == 0; });
  if (stop_signal() != 0) return stop_code();
  const std::string json = scaling_json(report);
  if (request.result_file) request.outputs.at(*request.result_file).write(json);
  if (request.json) {
    print_json(json);
  } else if (!request.outputs.take_standard_output()) {
    print_styled(scaling_tables(report, style), style);
    print(wrapped_prose(
        fmt::format("\nsimulated ({}): nothing was computed, so nothing was verified\n", source),
        style, 2));
  }
  return ExitCode::ok;
}

}  // namespace mgpu
