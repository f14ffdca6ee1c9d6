// See the header.
#include "lib/report/case_name.hpp"

#include <fmt/format.h>

namespace mgpu {

std::string param_text(const ParamValue& value) {
  return std::visit([](const auto& v) { return fmt::format("{}", v); }, value);
}

std::string strategy_label(const RunRecord& run) {
  std::string label = run.strategy;
  for (const auto& [name, value] : run.strategy_params) label += fmt::format(":{}={}", name, param_text(value));
  return label;
}

std::string case_name(const RunRecord& run) {
  std::string name = run.suite;
  for (const auto& [key, value] : run.params) name += fmt::format("/{}:{}", key, param_text(value));
  return fmt::format("{}/{}/devices:{}/{}", name, strategy_label(run), run.devices.size(), to_string(run.mode));
}

}  // namespace mgpu
