// Scenarios in files: written by hand (schema "scenario") or taken from a result file whose records
// carry estimates.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>

#include "lib/plan/scenario.hpp"
#include "lib/report/record.hpp"

namespace mgpu {

// Throws Error(input) naming the file, the key and what is expected: unknown keys too, since a
// misspelt one would change the question.
Scenario read_scenario(const std::filesystem::path& file);

Scenario scenario_from_json(nlohmann::ordered_json json);  // likewise, without the file's name

// Well-formed numbers may still ask for a session that never ends. Each device alone is a case of
// it, so that what they take and make is added up. Throws Error(input).
void check_extent(const Scenario& scenario);

// How the devices of a case are: as it was estimated, or that corrected by how long its median
// sample took. Strategies are given what they were given then.
enum class Figures { predicted, measured };

// The devices and the work of one case of a result. Of a case that was not measured, or in which a
// device failed, as predicted. Throws Error(input) when its record carries no estimates.
Scenario scenario_of(const Report& report, std::size_t run, Figures figures);
// The first case with the most devices at work among those that carry estimates. Throws
// Error(input) when none does.
std::size_t largest_estimated_run(const Report& report);

}  // namespace mgpu
