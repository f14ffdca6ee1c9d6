// Results of a training beyond its figures: losses, the error of the network, and how the error
// fell over time.
#pragma once

#include <span>
#include <string>

#include "lib/base/findings.hpp"
#include "suites/pinn/outcome.hpp"
#include "suites/pinn/solution.hpp"

namespace mgpu::pinn {

Findings findings_of(const Problem& problem, const Ending& whole, const Solution& solution,
                     unsigned threads);

// Samples up to a thousand steps, including the first and the last. `losses` has three numbers per
// step.
Findings::Curve loss_curve(const char* name, std::span<const float> losses);

// Returns the first step, counted from 1, whose loss is not finite; 0 if there is none.
std::uint32_t first_without_number(std::span<const float> losses);

// Returns a summary such as "; loss 0.3 in step 1, ...".
std::string words_of(const Problem& problem, const Findings& findings);

}  // namespace mgpu::pinn
