#include "lib/base/output_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <tuple>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/base/fnv.hpp"
#include "lib/base/gzip.hpp"
#include "lib/base/quote.hpp"

namespace mgpu {

namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const fs::path& file, const std::string& why) {
  throw Error(ErrorKind::output, "cannot write \"" + file.string() + "\": " + why);
}

[[noreturn]] void refuse(const fs::path& file, int error) { refuse(file, std::strerror(error)); }

// The file that a name leads to.
struct Target {
  fs::path path;          // absolute, symbolic links followed
  bool in_place = false;  // not a regular file, or one that a process is known to have open
  struct stat info {};    // status of the existing file
  bool exists = false;
};

bool same_file(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

void make_parents(const fs::path& file, const fs::path& target) {
  if (!target.has_parent_path()) return;
  std::error_code error;
  fs::create_directories(target.parent_path(), error);
  if (error) refuse(file, error.message());
}

// Follows links one by one, including those whose target does not exist yet. A link below /proc
// stands for a file that a process has open, whatever path it shows.
Target target_of(const fs::path& file) {
  if (file.empty()) refuse(file, "the name is empty");
  if (file.filename().empty()) refuse(file, "it names a directory");
  std::error_code error;
  Target target;
  target.path = fs::absolute(file, error);
  if (error) refuse(file, error.message());
  constexpr int kMostLinks = 40;  // the kernel's limit
  for (int links = 0; fs::is_symlink(fs::symlink_status(target.path, error)); ++links) {
    if (links == kMostLinks) refuse(file, ELOOP);
    const fs::path folder = fs::weakly_canonical(target.path.parent_path(), error);
    if (folder.native().starts_with("/proc/")) {
      target.in_place = true;
      break;
    }
    const fs::path next = fs::read_symlink(target.path, error);
    if (error) refuse(file, error.message());
    target.path = next.is_absolute() ? next : folder / next;
  }
  if (::stat(target.path.c_str(), &target.info) != 0) {
    if (errno != ENOENT) refuse(file, errno);
    return target;
  }
  if (S_ISDIR(target.info.st_mode)) refuse(file, "it is a directory");
  target.exists = true;
  target.in_place |= !S_ISREG(target.info.st_mode);
  if (::access(target.path.c_str(), W_OK) != 0) {
    if (errno != ENOENT) refuse(file, errno);
    target.exists = false;  // another process removed it between the two calls
  }
  return target;
}

// Returns the prefix of the names of companion files. A hash, because the name itself may already
// be as long as names can be.
std::string companion(const fs::path& target) {
  return ".mgpu-bench-" + fnv1a_hex(target.filename().native());
}

// Tells whether `path` still leads to `fd`: another process may have removed it before it was
// locked.
bool is_at(int fd, const fs::path& path) {
  struct stat mine {
  }, there{};
  return ::fstat(fd, &mine) == 0 && ::stat(path.c_str(), &there) == 0 && same_file(mine, there);
}

fs::path lock_of(const Target& target) {
  return target.path.parent_path() / (companion(target.path) + ".lock");
}

// Removes temporaries of killed processes, which hold no locks any more. Best effort: without locks
// on the file system this cannot tell.
void remove_stale(const fs::path& target) {
  const std::string prefix = companion(target) + '-';
  std::error_code error;
  for (fs::directory_iterator entry(target.has_parent_path() ? target.parent_path() : ".", error),
       end;
       !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().native();
    if (!name.starts_with(prefix) || !name.ends_with(".tmp")) continue;
    const int fd = ::open(entry->path().c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) continue;
    if (::flock(fd, LOCK_EX | LOCK_NB) == 0) ::unlink(entry->path().c_str());
    ::close(fd);
  }
}

using Temporary = std::pair<fs::path, int>;  // its name and descriptor

// Creates a file next to `file`, locked if the file system has locks.
Temporary open_temporary(const fs::path& name, const fs::path& file) {
  const fs::path stem =
      file.parent_path() / (companion(file) + '-' + std::to_string(::getpid()) + '-');
  for (int attempt = 0;; ++attempt) {
    fs::path path = stem;
    path += std::to_string(attempt) + ".tmp";
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0) {
      if (errno != EEXIST || attempt == 1000) refuse(name, errno);
      continue;
    }
    // Between the two calls another process may have taken it for a stale one.
    const bool taken = ::flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (!taken && is_at(fd, path)) return {path, fd};
    ::close(fd);
  }
}

// Returns 0 or the error number.
int write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

// Returns 0 or the error number. File systems without fsync have nothing to wait for.
int synced(int fd) {
  while (::fsync(fd) != 0) {
    if (errno != EINTR)
      return errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP ? 0 : errno;
  }
  return 0;
}

// Returns 0 or the error number. A folder that is writable but not readable cannot be opened: its
// change then reaches the disk when the system writes it.
int synced_folder(const fs::path& folder) {
  const int fd = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return 0;
  const int error = synced(fd);
  ::close(fd);
  return error;
}

}  // namespace

AtomicFile::AtomicFile(const fs::path& file, const fs::path& name)
    : file_(file), name_(name.empty() ? file : name) {
  make_parents(name_, file);
  remove_stale(file);
  std::tie(temporary_, fd_) = open_temporary(name_, file);
  struct stat older {};
  if (::lstat(file.c_str(), &older) == 0 && S_ISREG(older.st_mode))
    (void)::fchmod(fd_, older.st_mode & 0777);  // some file systems have no permissions
}

AtomicFile::~AtomicFile() {
  if (fd_ < 0) return;
  ::unlink(temporary_.c_str());
  ::close(fd_);
}

void AtomicFile::write(std::string_view text) {
  if (const int error = write_all(fd_, text)) refuse(name_, error);
}

void AtomicFile::commit() {
  int error = synced(fd_);
  if (error == 0 && ::rename(temporary_.c_str(), file_.c_str()) != 0) error = errno;
  if (error != 0) refuse(name_, error);
  // The temporary has been renamed. Closing may report an error for the last bytes, including those
  // that fsync did not wait for.
  if (::close(std::exchange(fd_, -1)) != 0) error = errno;
  if (error == 0) error = synced_folder(file_.parent_path());
  if (error != 0) refuse(name_, error);
}

void append_lines(const fs::path& file, std::span<const std::string> lines) {
  make_parents(file, file);
  const int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (fd < 0) refuse(file, errno);
  // Without locks on the file system, lines of two writers are still whole: O_APPEND sees to that.
  while (::flock(fd, LOCK_EX) != 0 && errno == EINTR) {
  }
  char last = '\n';
  const off_t end = ::lseek(fd, 0, SEEK_END);
  if (end > 0) (void)!::pread(fd, &last, 1, end - 1);
  int error = last == '\n' ? 0 : write_all(fd, "\n");
  for (std::size_t k = 0; k < lines.size() && error == 0; ++k) error = write_all(fd, lines[k]);
  if (error == 0) error = synced(fd);
  ::close(fd);
  if (error == 0 && end == 0) error = synced_folder(file.parent_path());
  if (error != 0) refuse(file, error);
}

bool names_gzip(const fs::path& file) { return file.extension() == ".gz"; }

void write_file_atomically(const fs::path& file, std::string_view text, const fs::path& name) {
  AtomicFile out(file, name);
  out.write(text);
  out.commit();
}

OutputFile::OutputFile(const fs::path& name, Mode mode) : name_(name) {
  struct stat standard {};
  const bool known = ::fstat(STDOUT_FILENO, &standard) == 0;
  Target target;
  if (name == "-") {
    if (!known) refuse(name, "standard output is closed");
    target.in_place = standard_output_ = true;
  } else {
    target = target_of(name);
    // A terminal or /dev/null is no file that the program's own output would mix with.
    standard_output_ =
        target.exists && known && !S_ISCHR(standard.st_mode) && same_file(target.info, standard);
  }
  target_ = target.path;
  if (standard_output_) {
    fd_ = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
    if (fd_ < 0) refuse(name, errno);
    return;
  }
  if (target.in_place) {
    // Opening a pipe without a reader would block forever.
    fd_ = ::open(target_.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd_ < 0 && errno == ENXIO) refuse(name, "nobody reads this pipe; start its reader first");
    if (fd_ < 0) refuse(name, errno);
    (void)::fcntl(fd_, F_SETFL, ::fcntl(fd_, F_GETFL) & ~O_NONBLOCK);
    return;
  }
  make_parents(name, target_);
  had_content_ = target.exists && target.info.st_size > 0;
  if (mode == Mode::append) {
    fd_ = ::open(target_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (fd_ < 0) refuse(name, errno);
    return;
  }
  // The target itself is tried too: its name may be too long although the temporary's is not.
  if (!target.exists) {
    const int fd = ::open(target_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0 && errno != EEXIST) refuse(name, errno);
    if (fd < 0) return;  // another process created it in the meantime: the name is valid
    ::close(fd);
    ::unlink(target_.c_str());
    return;
  }
  const auto [temporary, fd] = open_temporary(name, target_);
  ::close(fd);
  ::unlink(temporary.c_str());
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : name_(std::move(other.name_)),
      target_(std::move(other.target_)),
      standard_output_(other.standard_output_),
      had_content_(other.had_content_),
      fd_(std::exchange(other.fd_, -1)),
      last_(std::move(other.last_)) {}

OutputFile::~OutputFile() {
  if (fd_ >= 0) ::close(fd_);
}

void OutputFile::put(std::string_view text) {
  std::string packed;
  if (names_gzip(name_)) text = packed = gzip(text);
  if (fd_ < 0) return write_file_atomically(target_, text, name_);
  last_ = text;
}

void OutputFile::finish() {
  if (fd_ < 0 || last_.empty()) return;
  const int error = write_all(fd_, std::exchange(last_, {}));
  if (error != 0) refuse(name_, error);
}

void OutputFile::stream(const std::function<void(std::ostream&)>& write) {
  if (fd_ >= 0) {
    std::ostringstream out;
    write(out);
    put(out.view());
    return finish();
  }
  AtomicFile file(target_, name_);
  std::ofstream out(file.temporary(), std::ios::binary);
  write(out);
  out.close();
  if (!out) refuse(name_, "the disk may be full");
  file.commit();
}

OutputFile& OutputFiles::add(const fs::path& name, OutputFile::Mode mode) {
  OutputFile file(name, mode);
  if (file.is_standard_output() && take_standard_output())
    throw Error(ErrorKind::usage, in_quotes(name.string()) +
                                      ": another output is on standard output; expected: a file");
  for (const auto& other : files_)
    if (file.is_replaced() &&
        other->file.target_.lexically_normal() == file.target_.lexically_normal())
      throw Error(ErrorKind::usage,
                  in_quotes(name.string()) + " is already the file of another output");
  std::optional<FileLock> lock;
  if (file.is_replaced()) lock.emplace(name);
  return files_.emplace_back(std::make_unique<One>(std::move(file), std::move(lock)))->file;
}

OutputFile& OutputFiles::at(const fs::path& name) const {
  for (const auto& one : files_)
    if (one->file.name() == name) return one->file;
  throw Error(ErrorKind::internal, in_quotes(name.string()) + " is no output of this command");
}

void OutputFiles::remove(const fs::path& name) {
  std::erase_if(files_, [&](const auto& one) { return one->file.name() == name; });
}

bool OutputFiles::take_standard_output() const {
  return std::any_of(files_.begin(), files_.end(),
                     [](const auto& one) { return one->file.is_standard_output(); });
}

bool FileLock::is_held(const fs::path& file) {
  const Target target = target_of(file);
  if (target.in_place) return false;
  const int fd = ::open(lock_of(target).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return false;
  const bool held = ::flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  ::close(fd);
  return held;
}

FileLock::FileLock(const fs::path& file) {
  const Target target = target_of(file);
  if (target.in_place) return;
  make_parents(file, target.path);
  path_ = lock_of(target);
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
              " is writing this file; expected: another file, or the same when that run has ended");
    }
    // Its last owner may have removed it between the two calls.
    if (is_at(fd_, path_)) break;
    ::close(std::exchange(fd_, -1));
  }
  if (::ftruncate(fd_, 0) == 0) (void)write_all(fd_, std::to_string(::getpid()));
}

FileLock::FileLock(FileLock&& other) noexcept
    : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)) {}

FileLock::~FileLock() {
  if (fd_ < 0) return;
  ::unlink(path_.c_str());  // while the lock is held, so that no other process has it yet
  ::close(fd_);
}

}  // namespace mgpu
