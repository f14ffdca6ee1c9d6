// What a training was worth: its losses, how far the network is from the solution, and when it was
// how near.
#pragma once

#include <span>
#include <string>

#include "lib/base/findings.hpp"
#include "suites/pinn/outcome.hpp"
#include "suites/pinn/solution.hpp"

namespace mgpu::pinn {

Findings findings_of(const Problem& problem, const Ending& whole, const Solution& solution,
                     unsigned threads);

// Of up to a thousand steps, the first one and the last one among them; `losses`: three a step.
Findings::Curve loss_curve(const char* name, std::span<const float> losses);

// The first step, from 1 on, whose loss is no finite number; 0: there is none.
std::uint32_t first_without_number(std::span<const float> losses);

// "; loss 0.3 in step 1, ...", for people.
std::string words_of(const Problem& problem, const Findings& findings);

}  // namespace mgpu::pinn
