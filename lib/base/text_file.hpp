// Reads a file whole.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace mgpu {

// The kinds of files that are allowed. A user may also name a pipe or a device, which is read to
// its end. The program's own files (caches, journals) must be regular, so that none can block it
// forever.
enum class FileKind { any, regular };

// Returns the bytes of a file; of a gzip file, recognised by its first bytes and not by its name,
// the decompressed ones. Throws Error(input), without the name: "is a directory", "is no regular
// file", "cannot be opened: WHY", "cannot be read", damaged gzip (see Gunzip), or larger than 1
// GiB, also when decompressed. No text file of this tool is that large, and a device like /dev/zero
// has no end.
std::string read_text_file(const std::filesystem::path& file, FileKind kind = FileKind::any);

// The bytes of a regular file of any size, without a copy of them. It must not become shorter while
// it is read: for files that are only appended to. Throws Error(input) as above.
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& file);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;
  ~MappedFile();
  std::string_view text() const { return text_; }

 private:
  std::string_view text_;
};

}  // namespace mgpu
