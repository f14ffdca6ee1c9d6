// Reading a file whole.
#pragma once

#include <filesystem>
#include <string>

namespace mgpu {

// Its bytes. Throws Error(input), without the name: "is a directory", "cannot be opened: WHY", "cannot be read", or larger than 1
// GiB, which no file that this tool reads as text is (a device like /dev/zero has no end).
std::string read_text_file(const std::filesystem::path& file);

}  // namespace mgpu
