// Problems of suites as `run` would request them.
#pragma once

#include <doctest/doctest.h>

#include "suites/suites.hpp"

namespace mgpu::test {

using Options = std::map<std::string, std::string>;

inline const SuiteInfo& suite_named(std::string_view name) {
  for (const SuiteInfo& info : all_suites())
    if (info.name == name) return info;
  FAIL("there is no suite " << std::string(name));
  return all_suites().front();
}

// Returns parameters with every option at its default except the given ones.
inline SuiteParams suite_params(std::string_view suite, std::uint64_t size,
                                const Options& given = {}, std::uint64_t seed = 5) {
  SuiteParams params;
  params.size = size;
  params.seed = seed;
  params.host_threads = 2;
  params.options = given;
  for (const SuiteOption& option : suite_named(suite).options)
    if (option.kind != SuiteOption::Kind::flag)
      params.options.insert({option.name, option.values.front()});
  return params;
}

// Returns a small problem: two phase bands, three amplitude bands, 256 samples.
inline SuiteParams pac_params(std::uint64_t batch, Options given = {}) {
  given.insert({{"channels", "3"}, {"length", "256"}, {"pha", "4:8:2"}, {"amp", "40:80:3"}});
  given.insert({"perm", "21"});
  SuiteParams params = suite_params("pac", batch, given);
  params.devices = 2;
  return params;
}

}  // namespace mgpu::test
