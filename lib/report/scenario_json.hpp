// Scenarios in files: written by hand (schema "scenario") or taken from a result file whose records carry estimates.
#pragma once

#include <filesystem>

#include "lib/plan/scenario.hpp"
#include "lib/report/record.hpp"

namespace mgpu {

// Throws Error(input) naming the file, the key and what is accepted: unknown keys too, since a misspelt one would change the
// question.
Scenario read_scenario(const std::filesystem::path& file);

// The devices and the work of one case of a result. Throws Error(input) when its record carries no estimates.
Scenario scenario_of(const Report& report, std::size_t run);
// The first case with the most devices among those that carry estimates. Throws Error(input) when none does.
std::size_t largest_estimated_run(const Report& report);

}  // namespace mgpu
