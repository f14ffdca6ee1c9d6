// Texts compiled in from app/texts, with placeholders.
#pragma once

#include <map>
#include <string>

namespace mgpu {

// Returns the text of `file` with each @NAME@ of `places` replaced; a placeholder alone on its line
// takes a text of whole lines. Throws Error(internal) if the file or one of the placeholders does
// not exist.
std::string filled_text(const std::string& file, const std::map<std::string, std::string>& places);

}  // namespace mgpu
