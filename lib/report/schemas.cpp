// The published schemas, as they were compiled in.
#include <string>

#include "lib/base/embedded.hpp"
#include "lib/base/error.hpp"
#include "lib/report/record_json.hpp"

namespace mgpu {

std::string_view schema_text(std::string_view name) {
  std::string known;
  constexpr std::string_view suffix = ".schema.json";
  for (const EmbeddedText& schema : embedded_schemas()) {
    const std::string_view stem = schema.file.substr(0, schema.file.size() - suffix.size());
    if (stem == name) return schema.text;
    known += (known.empty() ? "" : ", ") + std::string(stem);
  }
  throw Error(ErrorKind::usage, "no schema \"" + std::string(name) + "\": there are " + known);
}

}  // namespace mgpu
