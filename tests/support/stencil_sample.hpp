// A sample of the stencil suite's own workload and programs on devices of the fake backend.
#pragma once

#include <doctest/doctest.h>

#include <map>

#include "suites/stencil/stencil_workload.hpp"
#include "tests/support/rounds_sample.hpp"
#include "tests/support/stencil_kernels.hpp"

namespace mgpu::test {

struct StencilAsked {
  std::string kind = "jacobi2d";
  std::uint64_t n = 24;
  unsigned steps = 9, depth = 1;
  std::map<std::string, std::string> more = {};  // options
};

inline SuiteParams stencil_params(const StencilAsked& asked) {
  SuiteParams params;
  params.size = asked.n;
  params.seed = 11;
  params.options = {{"kind", asked.kind},
                    {"iterations", std::to_string(asked.steps)},
                    {"precision", "fp32"},
                    {"depth", std::to_string(asked.depth)},
                    {"split", "auto"},
                    {"overlap", "on"},
                    {"steps", "auto"},
                    {"exchange", "auto"},
                    {"rate", "0.1"},
                    {"radius", "2"},
                    {"check-every", "never"},
                    {"initial", "auto"},
                    {"checkpoint-rounds", "none"}};
  for (const auto& [option, value] : asked.more) params.options[option] = value;
  return params;
}

inline FakeKernels stencil_kernels_of(const stencil::Problem& problem, unsigned stale_launch) {
  return problem.wide() ? stencil_kernels<double>(stale_launch, problem.radius)
                        : stencil_kernels<float>(stale_launch, problem.radius);
}

struct StencilPlanted : RoundsPlanted {
  unsigned stale_launch = 0;  // of jacobi2d: it finds a stale halo
};

struct StencilSample : RoundsSample {
  StencilSample(stencil::StencilWorkload& workload, std::vector<Items> shares, Mode mode,
                PeerPath path, const StencilPlanted& planted = {})
      : RoundsSample(workload, stencil_kernels_of(workload.problem(), planted.stale_launch),
                     std::move(shares), mode, path, planted) {}
};

}  // namespace mgpu::test
