// A folder for files that nobody needs later.
#pragma once

#include <filesystem>
#include <string>

namespace mgpu {

// Makes the folder, in the one for temporary files, and removes it with everything in it.
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
