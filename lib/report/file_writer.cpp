// Writing a file so that a reader never sees half of it. POSIX calls, because only their error numbers say why a disk refuses.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>

#include "lib/base/error.hpp"
#include "lib/report/record_json.hpp"

namespace mgpu {

namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const fs::path& file, const std::string& why) {
  throw Error(ErrorKind::output, "cannot write \"" + file.string() + "\": " + why);
}

[[noreturn]] void refuse(const fs::path& file, int error) { refuse(file, std::strerror(error)); }

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  // 0, or why the last bytes did not get there.
  int close() {
    const int result = ::close(fd_);
    fd_ = -1;
    return result == 0 ? 0 : errno;
  }

 private:
  int fd_;
};

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
    target.exists = true;
    if (S_ISDIR(info.st_mode)) refuse(file, "it is a directory");
    target.special = !S_ISREG(info.st_mode);
    target.permissions = info.st_mode & 0777;
    if (::access(target.path.c_str(), W_OK) != 0) refuse(file, errno);
  } else if (errno != ENOENT) {
    refuse(file, errno);
  }
  if (target.path.has_parent_path()) {
    fs::create_directories(target.path.parent_path(), error);
    if (error) refuse(file, error.message());
  }
  return target;
}

struct Temporary {
  fs::path path;
  int fd = -1;
};

// A new file beside the target. Its name does not hold the target's, which may already be as long as names can be.
Temporary open_temporary(const fs::path& file, const Target& target) {
  for (int attempt = 0;; ++attempt) {
    Temporary t;
    t.path = target.path.parent_path() / (".mgpu-bench-" + std::to_string(::getpid()) + "-" + std::to_string(attempt) + ".tmp");
    t.fd = ::open(t.path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (t.fd >= 0) return t;
    if (errno != EEXIST || attempt == 1000) refuse(file, errno);
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

void write_in_place(const fs::path& file, const Target& target, std::string_view text) {
  Descriptor out(::open(target.path.c_str(), O_WRONLY | O_CLOEXEC));
  if (out.get() < 0) refuse(file, errno);
  if (const int error = write_all(out.get(), text)) refuse(file, error);
  if (const int error = out.close()) refuse(file, error);
}

}  // namespace

void write_file_atomically(const fs::path& file, std::string_view text) {
  const Target target = target_of(file);
  if (target.special) return write_in_place(file, target, text);
  const Temporary temporary = open_temporary(file, target);
  Descriptor out(temporary.fd);
  if (target.exists) (void)::fchmod(out.get(), target.permissions);  // a file system without permissions is no reason to fail
  int error = write_all(out.get(), text);
  if (const int closing = out.close(); error == 0) error = closing;
  if (error == 0 && ::rename(temporary.path.c_str(), target.path.c_str()) != 0) error = errno;
  if (error == 0) return;
  ::unlink(temporary.path.c_str());
  refuse(file, error);
}

void check_writable(const fs::path& file) {
  const Target target = target_of(file);
  if (target.special) return;
  // The target itself is tried too: its name may be too long, which the temporary's is not.
  if (!target.exists) {
    const int fd = ::open(target.path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0) refuse(file, errno);
    ::close(fd);
    ::unlink(target.path.c_str());
    return;
  }
  const Temporary temporary = open_temporary(file, target);
  ::close(temporary.fd);
  ::unlink(temporary.path.c_str());
}

}  // namespace mgpu
