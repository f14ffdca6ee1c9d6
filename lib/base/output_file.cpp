#include "lib/base/output_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/base/fnv.hpp"
#include "lib/base/gzip.hpp"

namespace mgpu {

namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const fs::path& file, const std::string& why) {
  throw Error(ErrorKind::output, "cannot write \"" + file.string() + "\": " + why);
}

[[noreturn]] void refuse(const fs::path& file, int error) { refuse(file, std::strerror(error)); }

struct Target {
  fs::path path;         // symbolic links followed: they stay links
  bool special = false;  // a pipe or device: written in place, never replaced
  bool exists = false;
  mode_t permissions = 0;  // of the file that is there
};

// What `file` stands for; makes missing parents and refuses what cannot be written.
Target target_of(const fs::path& file) {
  if (file.empty()) refuse(file, "the name is empty");
  std::error_code error;
  Target target;
  target.path = fs::weakly_canonical(file, error);
  if (error) target.path = file;
  if (file.filename().empty()) refuse(file, "it names a directory");
  struct stat info {};
  if (::stat(target.path.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode)) refuse(file, "it is a directory");
    // Another process may have removed it between the two calls, as check_writable() does: then it
    // is not there.
    target.exists = ::access(target.path.c_str(), W_OK) == 0;
    if (!target.exists && errno != ENOENT) refuse(file, errno);
  } else if (errno != ENOENT) {
    refuse(file, errno);
  }
  if (target.exists) {
    target.special = !S_ISREG(info.st_mode);
    target.permissions = info.st_mode & 0777;
  }
  if (target.path.has_parent_path()) {
    fs::create_directories(target.path.parent_path(), error);
    if (error) refuse(file, error.message());
  }
  return target;
}

// What files that belong to this one begin with. The name itself may already be as long as names
// can be.
std::string companion(const fs::path& target) {
  return ".mgpu-bench-" + fnv1a_hex(target.filename().native());
}

// Is `fd` still what the name leads to, or did another process remove it before it was locked?
bool is_at(int fd, const fs::path& path) {
  struct stat mine {
  }, there{};
  return ::fstat(fd, &mine) == 0 && ::stat(path.c_str(), &there) == 0 &&
         mine.st_dev == there.st_dev && mine.st_ino == there.st_ino;
}

// Temporaries of processes that were killed: nobody holds their locks. Best effort; where there are
// no locks, nothing is known.
void remove_stale(const fs::path& target) {
  const std::string prefix = companion(target) + '-';
  std::error_code error;
  for (fs::directory_iterator entry(target.has_parent_path() ? target.parent_path() : ".", error),
       end;
       !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().native();
    if (!name.starts_with(prefix) || !name.ends_with(".tmp")) continue;
    const int fd = ::open(entry->path().c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) continue;
    if (::flock(fd, LOCK_EX | LOCK_NB) == 0) ::unlink(entry->path().c_str());
    ::close(fd);
  }
}

struct Temporary {
  fs::path path;
  int fd = -1;
};

// A new file beside the target, locked where that can be done.
Temporary open_temporary(const fs::path& file, const Target& target) {
  const fs::path stem =
      target.path.parent_path() / (companion(target.path) + '-' + std::to_string(::getpid()) + '-');
  for (int attempt = 0;; ++attempt) {
    Temporary t;
    t.path = stem;
    t.path += std::to_string(attempt) + ".tmp";
    t.fd = ::open(t.path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (t.fd < 0) {
      if (errno != EEXIST || attempt == 1000) refuse(file, errno);
      continue;
    }
    // Between the two calls another process may have taken it for one that was left.
    const bool taken = ::flock(t.fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (!taken && is_at(t.fd, t.path)) return t;
    ::close(t.fd);
  }
}

// 0, or the error number.
int write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

// 0, or the error number. File systems that know no fsync have nothing to wait for.
int synced(int fd) {
  while (::fsync(fd) != 0) {
    if (errno != EINTR)
      return errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP ? 0 : errno;
  }
  return 0;
}

// A folder that may be written but not read cannot be opened: its change then reaches the disk when
// the system writes it.
int synced_folder(const fs::path& folder) {
  const int fd = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return 0;
  const int error = synced(fd);
  ::close(fd);
  return error;
}

}  // namespace

AtomicFile::AtomicFile(const fs::path& file) : file_(file) {
  const Target target = target_of(file);
  target_ = target.path;
  in_place_ = target.special;
  if (in_place_) {
    path_ = target_;
    fd_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd_ < 0) refuse(file, errno);
    return;
  }
  remove_stale(target_);
  const Temporary temporary = open_temporary(file, target);
  path_ = temporary.path;
  fd_ = temporary.fd;
  if (target.exists)
    (void)::fchmod(fd_,
                   target.permissions);  // a file system without permissions is no reason to fail
}

AtomicFile::~AtomicFile() {
  if (fd_ < 0) return;
  if (!in_place_) ::unlink(path_.c_str());
  ::close(fd_);
}

void AtomicFile::write(std::string_view text) {
  if (const int error = write_all(fd_, text)) refuse(file_, error);
}

void AtomicFile::commit() {
  int error = in_place_ ? 0 : synced(fd_);
  if (error == 0 && !in_place_ && ::rename(path_.c_str(), target_.c_str()) != 0) error = errno;
  if (error != 0) refuse(file_, error);
  // From here on there is no temporary. Closing may tell of the last bytes, also of those that
  // fsync did not wait for.
  if (::close(std::exchange(fd_, -1)) != 0) error = errno;
  if (error == 0 && !in_place_) error = synced_folder(target_.parent_path());
  if (error != 0) refuse(file_, error);
}

bool names_gzip(const fs::path& file) { return file.extension() == ".gz"; }

void write_file_atomically(const fs::path& file, std::string_view text) {
  AtomicFile out(file);
  if (names_gzip(file)) {
    out.write(gzip(text));
  } else {
    out.write(text);
  }
  out.commit();
}

void check_writable(const fs::path& file) {
  const Target target = target_of(file);
  if (target.special) return;
  // The target itself is tried too: its name may be too long, which the temporary's is not.
  if (!target.exists) {
    const int fd = ::open(target.path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0 && errno != EEXIST) refuse(file, errno);
    if (fd < 0) return;  // another process made it since: its name is one that can be had
    ::close(fd);
    ::unlink(target.path.c_str());
    return;
  }
  const Temporary temporary = open_temporary(file, target);
  ::close(temporary.fd);
  ::unlink(temporary.path.c_str());
}

FileLock::FileLock(const fs::path& file) {
  const Target target = target_of(file);
  if (target.special) return;
  path_ = target.path.parent_path() / (companion(target.path) + ".lock");
  for (;;) {
    fd_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd_ < 0) refuse(file, errno);
    if (::flock(fd_, LOCK_EX | LOCK_NB) != 0) {
      const bool held = errno == EWOULDBLOCK;
      char text[32] = {};
      const ssize_t length = held ? ::read(fd_, text, sizeof text - 1) : 0;
      if (!held) ::unlink(path_.c_str());
      ::close(std::exchange(fd_, -1));
      if (!held) return;
      const std::string_view process(text, static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
      const bool known =
          !process.empty() && process.find_first_not_of("0123456789") == std::string_view::npos;
      throw Error(
          ErrorKind::usage,
          "\"" + file.string() + "\": another run" +
              (known ? " (process " + std::string(process) + ")" : "") +
              " is writing this file; accepted: another file, or the same when that run has ended");
    }
    // Its last holder may have removed it between the two calls.
    if (is_at(fd_, path_)) break;
    ::close(std::exchange(fd_, -1));
  }
  if (::ftruncate(fd_, 0) == 0) (void)write_all(fd_, std::to_string(::getpid()));
}

FileLock::FileLock(FileLock&& other) noexcept
    : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)) {}

FileLock::~FileLock() {
  if (fd_ < 0) return;
  ::unlink(path_.c_str());  // while it is held: nobody else has it yet
  ::close(fd_);
}

}  // namespace mgpu
