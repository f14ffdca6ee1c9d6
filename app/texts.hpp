// Texts compiled in from app/texts, with places to fill in.
#pragma once

#include <map>
#include <string>

namespace mgpu {

// The text of `file` with each @NAME@ of `places` replaced; a place alone on its line takes a text
// of whole lines. Throws Error(internal) when the file does not exist or has no such place.
std::string filled_text(const std::string& file, const std::map<std::string, std::string>& places);

}  // namespace mgpu
