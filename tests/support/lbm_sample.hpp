// A sample of the lbm suite's own workload and programs on devices of the fake backend.
#pragma once

#include <map>

#include "suites/lbm/lbm_workload.hpp"
#include "tests/support/lbm_kernels.hpp"
#include "tests/support/rounds_sample.hpp"

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
                    {"checkpoint-rounds", "none"}};
  for (const auto& [option, value] : asked.more) params.options[option] = value;
  return params;
}

struct LbmSample : RoundsSample {
  LbmSample(lbm::LbmWorkload& workload, std::vector<Items> shares, Mode mode, PeerPath path, const RoundsPlanted& planted = {})
      : RoundsSample(workload, lbm_kernels(workload.problem().flow), std::move(shares), mode, path, planted) {}
};

}  // namespace mgpu::test
