// Files that are written: whole or not at all, safe from a crash, and by one process at a time.
// POSIX, as only its error numbers say why a disk refuses. Everything here blocks for as long as
// the disk takes.
#pragma once

#include <filesystem>
#include <string_view>

namespace mgpu {

// A file that appears at commit() as a whole, replacing an older one. Until then it is a temporary
// beside it,
// ".mgpu-bench-<hash of the name>-<process>-<n>.tmp", that its writer holds a lock on: one that
// nobody holds was left by a process that was killed, and goes when that file is next written. What
// is not a regular file (a pipe, /dev/null) is written in place. Symbolic links stay links,
// permissions of an older file stay. Every function throws Error(output) 'cannot write "FILE":
// WHY'.
class AtomicFile {
 public:
  explicit AtomicFile(const std::filesystem::path& file);  // makes missing parents
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();  // without commit(): as if it had never been

  void write(std::string_view text);
  // For writers that want a stream: what to open, and to close before commit().
  const std::filesystem::path& path() const { return path_; }
  // On the disk, by fsync of the file before it takes the name and of the folder after.
  void commit();

 private:
  std::filesystem::path file_;    // as it was named, for messages
  std::filesystem::path target_;  // symbolic links followed
  std::filesystem::path path_;    // what is written: the temporary, or the target itself
  int fd_ = -1;
  bool in_place_ = false;
};

// Is a file of this name one that is compressed: does the name end in ".gz"?
bool names_gzip(const std::filesystem::path& file);

// All of it, or nothing: an AtomicFile in one call. Compressed where the name says so.
void write_file_atomically(const std::filesystem::path& file, std::string_view text);

// Can `file` be written later? Creates missing parents and tries; leaves no file behind that was
// not there. Throws Error(output).
void check_writable(const std::filesystem::path& file);

// While it lives, no other process gets one for the same file: a lock on ".mgpu-bench-<hash of the
// name>.lock" beside it, as the file itself is another one after every AtomicFile. It goes with the
// process, however that ends. Where there are no locks (some network file systems), and for what is
// not a regular file, it holds nothing.
class FileLock {
 public:
  // Throws Error(usage), naming `file` and the process, when another has it.
  explicit FileLock(const std::filesystem::path& file);
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&&) = delete;
  ~FileLock();

 private:
  std::filesystem::path path_;
  int fd_ = -1;
};

}  // namespace mgpu
