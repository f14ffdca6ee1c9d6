// Reading a file whole.
#pragma once

#include <filesystem>
#include <string>

namespace mgpu {

// What a file may be: of files that a user names also a pipe or a device, from which is read for as
// long as they give something; of the program's own (caches, journals) nothing else than a regular
// file, so that none can hold it for ever.
enum class FileKind { any, regular };

// Its bytes; of a gzip file, known by how it begins and not by its name, those that it decompresses
// to. Throws Error(input), without the name: "is a directory", "is no regular file", "cannot be
// opened: WHY", "cannot be read", a gzip file that is damaged (Gunzip), or larger than 1 GiB, also
// when decompressed, which no file that this tool reads as text is (a device like /dev/zero has no
// end).
std::string read_text_file(const std::filesystem::path& file, FileKind kind = FileKind::any);

}  // namespace mgpu
