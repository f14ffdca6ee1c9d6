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
// The files of app/texts: the manual page and the completions, without the lists that they contain.
std::span<const EmbeddedText> embedded_texts();

// Returns the text of `file` with every line `#include "name"` replaced by that file of `texts`.
// Puts #line directives around it, so that a compiler of the single text reports the right file and
// line. Throws Error(internal) when a file is missing.
std::string with_includes(std::span<const EmbeddedText> texts, std::string_view file);

}  // namespace mgpu
