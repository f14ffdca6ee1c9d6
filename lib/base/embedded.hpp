// Text files compiled into the binary by cmake/embed.cmake. Each function exists where its library
// is linked.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace mgpu {

struct EmbeddedText {
  std::string_view file;  // file name without its folder
  std::string_view text;  // followed by a zero byte
};

std::span<const EmbeddedText> embedded_kernels();  // kernels/*.cl
std::span<const EmbeddedText> embedded_schemas();  // lib/report/scenario.schema.json
std::span<const EmbeddedText>
embedded_texts();  // app/texts: the manual page and the completions, without what they list

// The text of `file` with every line `#include "name"` replaced by that file of `texts`, and #line
// directives around it, so that a compiler that sees one text names the right file and line. Throws
// Error(internal) for a file that is not there.
std::string with_includes(std::span<const EmbeddedText> texts, std::string_view file);

}  // namespace mgpu
