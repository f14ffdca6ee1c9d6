// The published schemas: of described records, and those that were compiled in.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "lib/base/did_you_mean.hpp"
#include "lib/base/embedded.hpp"
#include "lib/base/error.hpp"
#include "lib/report/links_json.hpp"
#include "lib/report/record_json.hpp"

namespace mgpu {

namespace {

struct DescribedSchema {
  std::string_view name;
  std::string (*text)();
};
// Lists the schemas that follow from tables of fields.
constexpr DescribedSchema kDescribed[] = {{"links", links_schema}, {"result", result_schema}};

std::string_view name_of(const EmbeddedText& schema) {
  return schema.file.substr(0, schema.file.find('.'));
}

}  // namespace

std::vector<std::string> schema_names() {
  std::vector<std::string> names;
  for (const EmbeddedText& schema : embedded_schemas()) names.emplace_back(name_of(schema));
  for (const DescribedSchema& schema : kDescribed) names.emplace_back(schema.name);
  std::sort(names.begin(), names.end());
  return names;
}

std::string schema_text(std::string_view name) {
  for (const DescribedSchema& schema : kDescribed)
    if (schema.name == name) return schema.text();
  for (const EmbeddedText& schema : embedded_schemas())
    if (name_of(schema) == name) return std::string(schema.text);
  const std::vector<std::string> known = schema_names();
  throw Error(ErrorKind::usage, fmt::format("no schema \"{}\": there are {}{}", name,
                                            fmt::join(known, ", "), did_you_mean(name, known)));
}

}  // namespace mgpu
