// Text files compiled into the binary by cmake/embed.cmake. Each function exists where its library is linked.
#pragma once

#include <span>
#include <string_view>

namespace mgpu {

struct EmbeddedText {
  std::string_view file;  // file name without its folder
  std::string_view text;  // followed by a zero byte
};

std::span<const EmbeddedText> embedded_kernels();  // kernels/*.cl
std::span<const EmbeddedText> embedded_schemas();  // lib/report/*.schema.json

}  // namespace mgpu
