#include "lib/base/text_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/error.hpp"
#include "lib/base/gzip.hpp"

namespace mgpu {

namespace {

class Opened {
 public:
  Opened(const std::filesystem::path& file, FileKind kind) {
    // Without O_NONBLOCK the open itself would wait for the writer of a pipe.
    fd_ = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | (kind == FileKind::regular ? O_NONBLOCK : 0));
    struct stat facts {};
    if (fd_ < 0 || ::fstat(fd_, &facts) != 0)
      throw Error(ErrorKind::input, std::string("cannot be opened: ") + std::strerror(errno));
    if (S_ISDIR(facts.st_mode)) throw Error(ErrorKind::input, "is a directory");
    if (kind == FileKind::regular && !S_ISREG(facts.st_mode))
      throw Error(ErrorKind::input, "is no regular file");
  }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;
  ~Opened() {
    if (fd_ >= 0) ::close(fd_);
  }
  std::string_view map() const {
    struct stat facts {};
    if (::fstat(fd_, &facts) != 0) throw Error(ErrorKind::input, "cannot be read");
    const auto size = static_cast<std::size_t>(facts.st_size);
    if (size == 0) return {};
    void* const begin = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd_, 0);
    if (begin == MAP_FAILED) throw Error(ErrorKind::input, "cannot be read");
    return {static_cast<const char*>(begin), size};
  }
  // Returns the number of bytes read; 0 at the end.
  std::size_t read(std::vector<char>& room) {
    for (;;) {
      const ssize_t got = ::read(fd_, room.data(), room.size());
      if (got >= 0) return static_cast<std::size_t>(got);
      if (errno != EINTR) throw Error(ErrorKind::input, "cannot be read");
    }
  }

 private:
  int fd_ = -1;
};

}  // namespace

std::string read_text_file(const std::filesystem::path& file, FileKind kind) {
  constexpr std::size_t most = std::size_t{1} << 30, step = std::size_t{1} << 20;
  Opened in(file, kind);
  std::string text;
  std::vector<char> room(step);
  std::optional<Gunzip> gunzip;
  while (const std::size_t got = in.read(room)) {
    const std::string_view piece(room.data(), got);
    if (!gunzip && text.size() < 2) {  // a pipe may deliver its first bytes one by one
      const std::string begin = text + std::string(piece.substr(0, 2));
      if (is_gzip(begin)) {
        gunzip.emplace(most);
        gunzip->take(std::exchange(text, {}));
      }
    }
    if (gunzip) {
      gunzip->take(piece);
      continue;
    }
    text += piece;
    if (text.size() > most) throw Error(ErrorKind::input, "is larger than 1 GiB");
  }
  return gunzip ? gunzip->text() : text;
}

MappedFile::MappedFile(const std::filesystem::path& file)
    : text_(Opened(file, FileKind::regular).map()) {}

MappedFile::MappedFile(MappedFile&& other) noexcept : text_(std::exchange(other.text_, {})) {}

MappedFile::~MappedFile() {
  if (!text_.empty()) ::munmap(const_cast<char*>(text_.data()), text_.size());
}

}  // namespace mgpu
