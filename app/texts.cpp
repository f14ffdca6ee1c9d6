#include "app/texts.hpp"

#include "lib/base/embedded.hpp"
#include "lib/base/error.hpp"

namespace mgpu {

std::string filled_text(const std::string& file, const std::map<std::string, std::string>& places) {
  std::string text;
  for (const EmbeddedText& embedded : embedded_texts()) {
    if (embedded.file == file) text = embedded.text;
  }
  for (const auto& [name, content] : places) {
    const std::string place = "@" + name + "@";
    std::size_t at = text.find(place);
    if (at == std::string::npos)
      throw Error(ErrorKind::internal, "the text " + file + " has no place " + place);
    for (; at != std::string::npos; at = text.find(place, at + content.size())) {
      const bool own_newline =
          content.ends_with('\n') && text.compare(at + place.size(), 1, "\n") == 0;
      text.replace(at, place.size() + (own_newline ? 1 : 0), content);
    }
  }
  return text;
}

}  // namespace mgpu
