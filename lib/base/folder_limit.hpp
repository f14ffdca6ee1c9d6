// A cache folder that does not grow without end.
#pragma once

#include <filesystem>
#include <string_view>

#include "lib/base/units.hpp"

namespace mgpu {

// Removes regular files of the folder whose names end in `ending`, those that were written longest
// ago first, until the others have `most` bytes together. Also removes what a killed process left
// of one: names with `ending` and a dot in them that are an hour old. Best effort, as with any
// cache.
void limit_folder(const std::filesystem::path& folder, std::string_view ending, Bytes most);

}  // namespace mgpu
