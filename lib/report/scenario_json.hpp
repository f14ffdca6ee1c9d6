// Scenarios in files: written by hand (schema "scenario"), or taken from a result file whose
// records have estimates.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>

#include "lib/plan/scenario.hpp"
#include "lib/report/record.hpp"

namespace mgpu {

// Throws Error(input) that names the file, the key and what is expected, also for unknown keys: a
// misspelt one would change the question.
Scenario read_scenario(const std::filesystem::path& file);

// Throws like read_scenario, without the file's name.
Scenario scenario_from_json(nlohmann::ordered_json json);

std::string scenario_schema();  // JSON Schema, as text

// Rejects scenarios whose well-formed numbers give a session that never ends. Each device alone is
// one of its cases, so that their times and results are added up. Throws Error(input).
void check_extent(const Scenario& scenario);

// Speeds of the devices of a case: as estimated, or corrected by the time of its median sample.
// Strategies get the original estimates either way.
enum class Figures { predicted, measured };

// Returns the devices and the work of one case of a result. A case that was not measured, or in
// which a device failed, uses predicted figures. Throws Error(input) if its record has no
// estimates.
Scenario scenario_of(const Report& report, std::size_t run, Figures figures);
// Returns the first case with the most working devices among those with estimates. Throws
// Error(input) if there is none.
std::size_t largest_estimated_run(const Report& report);

}  // namespace mgpu
