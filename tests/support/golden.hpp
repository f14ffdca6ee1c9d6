// Golden files: the output of a function when a person last reviewed it. MGPU_UPDATE_GOLDEN=1 in
// the environment rewrites them: run the tests with it once, read the difference in version
// control, and commit it if it is intended.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "tests/support/paths.hpp"

namespace mgpu::test {

inline std::string file_text(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Returns the text of tests/golden/<name>; with MGPU_UPDATE_GOLDEN=1 it first writes `now` to it.
inline std::string golden(const std::string& name, std::string_view now) {
  const std::filesystem::path file = source_folder() / "tests/golden" / name;
  const char* update = std::getenv("MGPU_UPDATE_GOLDEN");
  if (update && std::string_view(update) == "1") {
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << now;
  }
  return file_text(file);
}

// Returns the text of a golden file.
inline std::string golden_text(const std::string& name) {
  return file_text(source_folder() / "tests/golden" / name);
}

// A fresh folder, removed with all its contents by the destructor.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "mgpu-test-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace mgpu::test
