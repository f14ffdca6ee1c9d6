#include "lib/report/case_name.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lib/base/quantity.hpp"
#include "lib/plan/choose.hpp"
#include "lib/plan/strategy.hpp"

namespace mgpu {

namespace {

bool is_standard(const std::string& strategy, const std::string& name, const std::string& value) {
  const auto all = all_strategies();
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const StrategyInfo& s) { return s.name == strategy; });
  const StrategyInfo& info = found == all.end() ? auto_strategy() : *found;
  return std::any_of(info.params.begin(), info.params.end(), [&](const StrategyParam& p) {
    return p.name == name && p.text(p.standard) == value;
  });
}

std::string problem_name(const RunRecord& run) {
  std::string name = run.suite;
  for (const auto& [key, value] : run.params) name += fmt::format("/{}:{}", key, param_text(value));
  return name;
}

std::string name_with(const RunRecord& run, const std::string& devices) {
  const std::string name = problem_name(run);
  return fmt::format("{}/{}/devices:{}/{}", name, strategy_label(run), devices,
                     to_string(run.mode));
}

}  // namespace

std::string param_shown(const ParamValue& value) {
  const auto* count = std::get_if<std::int64_t>(&value);
  return count != nullptr && *count >= 0 ? format_count(static_cast<std::uint64_t>(*count))
                                         : param_text(value);
}

std::string param_text(const ParamValue& value) {
  return std::visit([](const auto& v) { return fmt::format("{}", v); }, value);
}

std::string strategy_label(const RunRecord& run) {
  std::string label = run.strategy;
  for (const auto& [name, value] : run.strategy_params)
    if (!is_standard(run.strategy, name, param_text(value)))
      label += fmt::format(":{}={}", name, param_text(value));
  return label;
}

std::string case_name(const RunRecord& run) {
  return name_with(run, std::to_string(asked_for(run)));
}

std::string group_name(const RunRecord& run) {
  return problem_name(run) + '/' + to_string(run.mode);
}

std::string series_name(const RunRecord& run) {
  const std::size_t asked = asked_for(run);
  return name_with(run, asked > run.devices.size()
                            ? fmt::format("{}of{}", run.devices.size(), asked)
                            : std::to_string(asked));
}

}  // namespace mgpu
