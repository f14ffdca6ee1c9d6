// The file of `links`: LinksReport <-> JSON of schema "mgpu-bench/links",
// lib/report/links.schema.json.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "lib/report/links_record.hpp"

namespace mgpu {

// Writes the samples, and derived medians and rates for readers in other languages. Rates of wrong
// results are null.
nlohmann::ordered_json links_json(const LinksReport& report);
std::string links_json_text(const LinksReport& report);
std::string links_schema();

// Throws Error(input) that says what is wrong with the file.
LinksReport links_from_json(const nlohmann::ordered_json& json);

// Tells whether the document calls itself one of links, of any version.
bool says_links(const nlohmann::ordered_json& json);

}  // namespace mgpu
