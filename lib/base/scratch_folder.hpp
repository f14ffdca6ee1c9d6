// A folder for short-lived files.
#pragma once

#include <filesystem>
#include <string>

namespace mgpu {

// Creates a folder in the one for temporary files, and removes it with all its files at the end.
class ScratchFolder {
 public:
  // Throws Error(output).
  explicit ScratchFolder(const std::string& name);
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder();
  std::filesystem::path file(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

}  // namespace mgpu
