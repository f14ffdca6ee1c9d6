#include "lib/base/scratch_folder.hpp"

#include <stdlib.h>

#include <cerrno>
#include <cstring>

#include "lib/base/error.hpp"

namespace mgpu {

namespace fs = std::filesystem;

ScratchFolder::ScratchFolder(const std::string& name) {
  std::error_code none;
  const fs::path parent = fs::temp_directory_path(none);
  std::string pattern = (parent / (name + "-XXXXXX")).string();
  if (none || ::mkdtemp(pattern.data()) == nullptr)
    throw Error(ErrorKind::output, "cannot make a folder in " + parent.string() + ": " +
                                       (none ? none.message() : std::strerror(errno)));
  path_ = pattern;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace mgpu
