// A size limit for cache folders.
#pragma once

#include <filesystem>
#include <string_view>

#include "lib/base/units.hpp"

namespace mgpu {

// Removes regular files of the folder whose names end in `ending`, oldest first, until the rest has
// at most `most` bytes. Also removes what killed processes left: files an hour old whose names
// contain `ending` and a dot after it. Best effort, as with any cache.
void limit_folder(const std::filesystem::path& folder, std::string_view ending, Bytes most);

}  // namespace mgpu
