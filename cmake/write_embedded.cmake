# Run by mgpu_embed_text at build time: -DNAME, -DOUTPUT, -DINPUTS (a list).
set(entries "")
foreach(input IN LISTS INPUTS)
  get_filename_component(file ${input} NAME)
  file(READ ${input} text HEX)  # hex, so that no semicolon or bracket of the text means anything to CMake
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${text}")
  string(REGEX REPLACE "(................................................................................)" "\\1\n    " bytes "${bytes}")
  string(MAKE_C_IDENTIFIER ${file} id)
  string(APPEND arrays "constexpr unsigned char ${id}[] = {\n    ${bytes}0x00};\n")
  string(APPEND entries "      {\"${file}\", {reinterpret_cast<const char*>(${id}), sizeof ${id} - 1}},\n")
endforeach()
file(WRITE ${OUTPUT} "// Written by cmake/write_embedded.cmake.
#include \"lib/base/embedded.hpp\"

namespace mgpu {
namespace {
${arrays}
}  // namespace

std::span<const EmbeddedText> embedded_${NAME}() {
  static const EmbeddedText table[] = {
${entries}  };
  return table;
}

}  // namespace mgpu
")
