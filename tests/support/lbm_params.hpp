// What tests ask of the lbm suite.
#pragma once

#include <map>
#include <string>

#include "lib/workload/workload.hpp"

namespace mgpu::test {

struct LbmAsked {
  std::string flow = "taylor-green";
  std::uint64_t n = 7, planes = 13;
  unsigned steps = 7;
  std::map<std::string, std::string> more = {};  // options
};

inline SuiteParams lbm_params(const LbmAsked& asked) {
  SuiteParams params;
  params.size = asked.n;
  params.options = {{"case", asked.flow},
                    {"iterations", std::to_string(asked.steps)},
                    {"planes", std::to_string(asked.planes)},
                    {"collision", "bgk"},
                    {"relaxation-time", "0.8"},
                    {"reynolds", "none"},
                    {"speed", "0.05"},
                    {"lattices", "two"},
                    {"split", "slabs"},
                    {"depth", "1"},
                    {"overlap", "on"},
                    {"kernel", "auto"},
                    {"checkpoint-rounds", "none"}};
  for (const auto& [option, value] : asked.more) params.options[option] = value;
  return params;
}

}  // namespace mgpu::test
