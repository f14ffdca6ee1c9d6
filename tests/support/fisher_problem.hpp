// Parameters of the fisher suite, as `run` would give them.
#pragma once

#include <map>
#include <string>

#include "suites/suites.hpp"

namespace mgpu::testing {

// All options at their defaults but those given.
inline SuiteParams fisher_params(std::uint64_t points,
                                 const std::map<std::string, std::string>& given = {}) {
  SuiteParams params;
  params.size = points;
  params.seed = 5;
  params.host_threads = 2;
  for (const SuiteInfo& info : all_suites()) {
    if (info.name != "fisher") continue;
    for (const SuiteOption& option : info.options)
      params.options[option.name] = option.values.front();
  }
  for (const auto& [name, value] : given) params.options[name] = value;
  return params;
}

}  // namespace mgpu::testing
