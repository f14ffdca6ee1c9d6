// The published schemas, as they were compiled in.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "lib/base/did_you_mean.hpp"
#include "lib/base/embedded.hpp"
#include "lib/base/error.hpp"
#include "lib/report/record_json.hpp"

namespace mgpu {

namespace {

std::string_view name_of(const EmbeddedText& schema) {
  return schema.file.substr(0, schema.file.find('.'));
}

}  // namespace

std::vector<std::string_view> schema_names() {
  std::vector<std::string_view> names;
  for (const EmbeddedText& schema : embedded_schemas()) names.push_back(name_of(schema));
  return names;
}

std::string_view schema_text(std::string_view name) {
  std::vector<std::string> known;
  for (const EmbeddedText& schema : embedded_schemas()) {
    if (name_of(schema) == name) return schema.text;
    known.emplace_back(name_of(schema));
  }
  throw Error(ErrorKind::usage, fmt::format("no schema \"{}\": there are {}{}", name,
                                            fmt::join(known, ", "), did_you_mean(name, known)));
}

}  // namespace mgpu
