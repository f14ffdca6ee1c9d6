// Inclusion of embedded texts in one another.
#include "lib/base/embedded.hpp"

#include <algorithm>

#include "lib/base/error.hpp"

namespace mgpu {

std::string with_includes(std::span<const EmbeddedText> texts, std::string_view file) {
  constexpr std::string_view directive = "#include \"";
  const auto found = std::find_if(texts.begin(), texts.end(),
                                  [&](const EmbeddedText& text) { return text.file == file; });
  if (found == texts.end())
    throw Error(ErrorKind::internal, "no embedded file is called " + std::string(file));
  std::string whole;
  std::string_view rest = found->text;
  for (std::size_t line = 2; !rest.empty(); ++line) {  // the number of the line after this one
    const std::size_t end = std::min(rest.find('\n'), rest.size() - 1) + 1;
    const std::string_view text = rest.substr(0, end);
    rest.remove_prefix(end);
    if (!text.starts_with(directive)) {
      whole += text;
      continue;
    }
    const std::string_view name = text.substr(directive.size(), text.rfind('"') - directive.size());
    whole += "#line 1 \"" + std::string(name) + "\"\n" + with_includes(texts, name);
    if (whole.back() != '\n') whole += '\n';
    whole += "#line " + std::to_string(line) + " \"" + std::string(file) + "\"\n";
  }
  return whole;
}

}  // namespace mgpu
