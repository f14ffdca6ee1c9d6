// The order of a descriptor's stages: a graph, in which each names those that it follows.
#pragma once

#include <vector>

#include "suites/kernel/problem.hpp"

namespace mgpu::kernel {

// Sets level and `follows` of all stages, and sorts them by level. Throws Error(input) for an
// unknown name, for two stages of one name, and for stages that follow themselves.
void order_stages(std::vector<Stage>& stages, const std::vector<StageText>& texts);

// Tells whether a stage may write its i-th argument. `parameters` are those of its kernel; empty:
// the driver does not report them.
bool may_write(const Problem& problem, const Stage& stage, std::size_t i,
               const std::vector<KernelParameter>& parameters);

// Throws Error(input) if two stages have no order and share an argument that one of them may write.
// `parameters` are those of each stage's kernel; empty: the driver does not report them.
void check_unordered(const Problem& problem,
                     const std::vector<std::vector<KernelParameter>>& parameters);

}  // namespace mgpu::kernel
