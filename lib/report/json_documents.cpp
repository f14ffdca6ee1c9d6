// Whole documents: where the values of nlohmann that callers hold, and files, meet the writers and
// readers of lib/report, which know them by JsonValue and JsonReader alone.
#include <nlohmann/json.hpp>
#include <utility>

#include "lib/report/any_result.hpp"
#include "lib/report/json_file.hpp"
#include "lib/report/json_reader.hpp"
#include "lib/report/json_text.hpp"
#include "lib/report/links_json.hpp"
#include "lib/report/record_json.hpp"
#include "lib/report/scenario_json.hpp"

namespace mgpu {

nlohmann::ordered_json to_json(const Report& report) {
  return std::move(report_value(report).json());
}

std::string to_json_text(const Report& report) { return json_text(report_value(report)); }

nlohmann::ordered_json links_json(const LinksReport& report) {
  return std::move(links_value(report).json());
}

Report report_from_json(nlohmann::ordered_json json) { return read_report_value(JsonReader(json)); }

Report read_report(const std::filesystem::path& file) {
  return read_json_file(file, "a result file", [](nlohmann::ordered_json json) {
    return report_from_json(std::move(json));
  });
}

AnyResult read_any_result(const std::filesystem::path& file) {
  return read_json_file(file, "a result file", [](nlohmann::ordered_json json) -> AnyResult {
    if (says_links(json)) return links_from_json(json);
    return report_from_json(std::move(json));
  });
}

Scenario scenario_from_json(nlohmann::ordered_json json) {
  return read_scenario_value(JsonReader(json));
}

Scenario read_scenario(const std::filesystem::path& file) {
  return read_json_file(file, "a scenario file", [](nlohmann::ordered_json json) {
    return scenario_from_json(std::move(json));
  });
}

}  // namespace mgpu
