// The file of `links`: LinksReport <-> JSON of schema "mgpu-bench/links",
// lib/report/links.schema.json.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "lib/report/links_record.hpp"

namespace mgpu {

// What is derived, medians and rates, is there for readers in other languages; it is made of the
// samples, which are there too. Rates of what was wrong are null.
nlohmann::ordered_json links_json(const LinksReport& report);
std::string links_json_text(const LinksReport& report);
std::string links_schema();

// Throws Error(input) that says what is wrong with it.
LinksReport links_from_json(const nlohmann::ordered_json& json);

// Does the document say of itself that it is one of links? Of any version.
bool says_links(const nlohmann::ordered_json& json);

}  // namespace mgpu
