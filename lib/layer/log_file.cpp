#include "lib/layer/log_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "lib/profile/command_log.hpp"

namespace mgpu::layer {
namespace {

// Moves a file to a number that programs do not expect to get next.
int moved_away(int file) {
  if (file < 0) return file;
  constexpr int kFirst = 500;
  const int moved = ::fcntl(file, F_DUPFD_CLOEXEC, kFirst);
  if (moved < 0) return file;  // fewer are allowed
  ::close(file);
  return moved;
}

}  // namespace

bool LogFile::create(const std::string& folder) {
  const std::string begin = folder + "/" + std::to_string(::getpid());
  constexpr int kTries = 1000;
  for (int count = 1; count <= kTries && file_ < 0; ++count) {
    path_ = begin + (count == 1 ? "" : "-" + std::to_string(count)) + command_log::kFileSuffix;
    file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644);
    if (file_ < 0 && errno != EEXIST) return false;
  }
  file_ = moved_away(file_);
  struct stat facts {};
  if (file_ < 0 || ::fstat(file_, &facts) != 0) return false;
  device_ = facts.st_dev;
  inode_ = facts.st_ino;
  command_log::FileHeader header{};
  std::copy(std::begin(command_log::kMagic), std::end(command_log::kMagic), header.magic);
  header.version = command_log::kVersion;
  header.size = sizeof header;
  append(std::as_bytes(std::span(&header, 1)));
  return file_ >= 0;
}

bool LogFile::still_open() {
  const auto is_ours = [&](int file) {
    struct stat facts {};
    return file >= 0 && ::fstat(file, &facts) == 0 && facts.st_dev == device_ &&
           facts.st_ino == inode_;
  };
  if (is_ours(file_)) return true;
  file_ = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (is_ours(file_)) {
    file_ = moved_away(file_);
    return true;
  }
  if (file_ >= 0) ::close(std::exchange(file_, -1));
  return false;
}

void LogFile::append(std::span<const std::byte> bytes) {
  if (bytes.empty() || path_.empty()) return;
  const int error = errno;
  bool good = still_open();
  while (good && !bytes.empty()) {
    const ssize_t wrote = ::write(file_, bytes.data(), bytes.size());
    if (wrote > 0)
      bytes = bytes.subspan(static_cast<std::size_t>(wrote));
    else
      good = wrote < 0 && errno == EINTR;
  }
  if (!good) {
    if (file_ >= 0) ::close(std::exchange(file_, -1));
    path_.clear();  // the last record may be cut short: none may follow
  }
  errno = error;
}

}  // namespace mgpu::layer
