#include "lib/session/configuration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "lib/report/case_name.hpp"

namespace mgpu {
namespace {

// Returns the file's name, length and time of change: reading it whole could take minutes.
std::string identity_of(const std::filesystem::path& file) {
  std::error_code error;
  const auto size = std::filesystem::file_size(file, error);
  const auto time = std::filesystem::last_write_time(file, error).time_since_epoch().count();
  return error ? file.string()
               : fmt::format("{} of {} bytes, changed at {}", file.string(), size, time);
}

void add_problem(Configuration& all, const std::string& name, const Problem& problem) {
  const SuiteParams& params = problem.params;
  all.emplace_back(name, problem.suite->name);
  all.emplace_back(name + ", " + problem.suite->size_name, std::to_string(params.size));
  for (const auto& [option, value] : params.options) {
    const auto known =
        std::find_if(problem.suite->options.begin(), problem.suite->options.end(),
                     [&, option = option](const SuiteOption& o) { return o.name == option; });
    const bool file =
        known != problem.suite->options.end() && known->kind == SuiteOption::Kind::file &&
        std::find(known->values.begin(), known->values.end(), value) == known->values.end();
    all.emplace_back(name + ", " + option, file ? identity_of(value) : value);
  }
  if (params.input) all.emplace_back(name + ", input", identity_of(*params.input));
  for (const auto& more : params.more_inputs)
    all.emplace_back(name + ", input " + more.filename().string(), identity_of(more));
}

// Adds an option: "timeout_ns", 9000000000 becomes "timeout", "9 s". Never rounds: different values
// must read differently.
void add_option(Configuration& all, std::string_view name, const ParamValue& value) {
  constexpr std::string_view unit = "_ns";
  const auto* time = std::get_if<std::int64_t>(&value);
  if (time == nullptr || !name.ends_with(unit)) {
    all.emplace_back(name, param_text(value));
  } else {
    all.emplace_back(name.substr(0, name.size() - unit.size()),
                     fmt::format("{} s", seconds(Nanos{*time})));
  }
}

}  // namespace

Configuration configuration_of(const SessionOptions& options, const Report& begun) {
  Configuration all;
  all.emplace_back("tool", begun.tool.version + " (git " + begun.tool.git + ")");
  all.emplace_back("problems", std::to_string(options.problems.size()));
  for (std::size_t k = 0; k < options.problems.size(); ++k) {
    const std::string name =
        options.problems.size() == 1 ? "problem" : fmt::format("problem {}", k + 1);
    add_problem(all, name, options.problems[k]);
    if (k >= options.variants.size()) continue;
    for (const auto& [device, variant] : options.variants[k])
      all.emplace_back(name + ", kernel variant on " + device, variant);
  }
  std::vector<std::string> modes, strategies, ids;
  for (const Mode mode : options.modes) modes.emplace_back(to_string(mode));
  for (const StrategyChoice& choice : options.strategies) strategies.push_back(choice.label());
  for (const Device& device : options.devices) ids.push_back(device.id);
  all.emplace_back("modes", fmt::format("{}", fmt::join(modes, ", ")));
  all.emplace_back("strategies", fmt::format("{}", fmt::join(strategies, ", ")));
  all.emplace_back("devices", fmt::format("{}", fmt::join(ids, ", ")));
  all.emplace_back("device counts", fmt::format("{}", fmt::join(options.device_counts, ", ")));
  for (std::size_t i = 0; i < options.devices.size(); ++i) {
    const Device& device = options.devices[i];
    all.emplace_back("device " + device.id, fmt::format("{}, {}, driver {}", device.name,
                                                        device.platform, device.driver_version));
    if (i < options.handicaps.size() && options.handicaps[i].any())
      all.emplace_back("handicap of " + device.id, in_words(options.handicaps[i]));
  }
  if (options.reserve)
    all.emplace_back("device in reserve", options.reserve->id + ", " + options.reserve->name);
  all.emplace_back("telemetry", options.telemetry ? "on" : "off");
  for (const auto& [name, value] : begun.options) add_option(all, name, value);
  for (const auto& [name, value] : begun.environment)
    all.emplace_back("environment, " + name, value);
  return all;
}

}  // namespace mgpu
