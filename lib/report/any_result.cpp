#include "lib/report/any_result.hpp"

#include <utility>

#include "lib/report/json_file.hpp"
#include "lib/report/links_json.hpp"
#include "lib/report/record_json.hpp"

namespace mgpu {

AnyResult read_any_result(const std::filesystem::path& file) {
  return read_json_file(file, "a result file", [](nlohmann::ordered_json json) -> AnyResult {
    if (says_links(json)) return links_from_json(json);
    return report_from_json(std::move(json));
  });
}

}  // namespace mgpu
