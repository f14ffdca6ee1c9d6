// A sample of the lbm suite's own workload and programs on devices of the fake backend.
#pragma once

#include "suites/lbm/lbm_workload.hpp"
#include "tests/support/lbm_kernels.hpp"
#include "tests/support/lbm_params.hpp"
#include "tests/support/rounds_sample.hpp"

namespace mgpu::test {

struct LbmSample : RoundsSample {
  LbmSample(lbm::LbmWorkload& workload, std::vector<Items> shares, Mode mode, PeerPath path,
            const RoundsPlanted& planted = {})
      : RoundsSample(workload, lbm_kernels(workload.problem().flow), std::move(shares), mode, path,
                     planted) {}
};

}  // namespace mgpu::test
