// Parameters of the pac suite, as `run` would give them.
#pragma once

#include <map>
#include <string>

#include "suites/suites.hpp"

namespace mgpu::testing {

// A small problem of all options at their defaults but those given: two phase bands, three
// amplitude bands, 256 samples.
inline SuiteParams pac_params(std::uint64_t batch,
                              const std::map<std::string, std::string>& given = {}) {
  SuiteParams params;
  params.size = batch;
  params.seed = 5;
  params.host_threads = 2;
  params.devices = 2;
  for (const SuiteInfo& info : all_suites()) {
    if (info.name != "pac") continue;
    for (const SuiteOption& option : info.options)
      params.options[option.name] = option.values.front();
  }
  for (const auto& [name, value] : std::map<std::string, std::string>{{"channels", "3"},
                                                                      {"length", "256"},
                                                                      {"pha", "4:8:2"},
                                                                      {"amp", "40:80:3"},
                                                                      {"perm", "21"}})
    params.options[name] = value;
  for (const auto& [name, value] : given) params.options[name] = value;
  return params;
}

}  // namespace mgpu::testing
