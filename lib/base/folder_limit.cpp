#include "lib/base/folder_limit.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

namespace mgpu {

void limit_folder(const std::filesystem::path& folder, std::string_view ending, Bytes most) {
  namespace fs = std::filesystem;
  struct Kept {
    fs::file_time_type written;
    fs::path file;
    Bytes size = 0;
  };
  const auto now = fs::file_time_type::clock::now();
  std::vector<Kept> kept;
  Bytes all = 0;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code gone;
    const std::string name = entry->path().filename().string();
    const bool whole = name.ends_with(ending);
    if ((!whole && name.find(std::string(ending) + '.') == std::string::npos) ||
        !fs::is_regular_file(entry->symlink_status(gone)))
      continue;
    const Kept one{entry->last_write_time(gone), entry->path(), entry->file_size(gone)};
    if (gone) continue;
    if (whole) {
      all += one.size;
      kept.push_back(one);
    } else if (now - one.written > std::chrono::hours(1)) {
      fs::remove(one.file, gone);
    }
  }
  std::sort(kept.begin(), kept.end(),
            [](const Kept& a, const Kept& b) { return a.written < b.written; });
  for (const Kept& one : kept) {
    if (all <= most) return;
    std::error_code ignored;
    if (fs::remove(one.file, ignored)) all -= one.size;
  }
}

}  // namespace mgpu
