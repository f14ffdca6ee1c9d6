// The file of `links`: LinksReport <-> JSON of schema "mgpu-bench/links", lib/report/links.schema.json.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "lib/report/links_record.hpp"

namespace mgpu {

// What is derived, medians and rates, is there for readers in other languages; it is made of the samples, which are there too.
// Rates of what was wrong are null.
nlohmann::ordered_json links_json(const LinksReport& report);
std::string links_json_text(const LinksReport& report);

// Throws Error(input) that names the file and what is wrong with it.
LinksReport read_links(const std::filesystem::path& file);
LinksReport links_from_json(const nlohmann::ordered_json& json);

// Does the file say of itself that it is one? False for whatever else it is, and for pipes, which can be read only once.
bool is_links_file(const std::filesystem::path& file);

}  // namespace mgpu
