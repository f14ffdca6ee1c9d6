// Files that are written: whole or not at all, safe from a crash, and by one process at a time.
// POSIX, as only its error numbers say why a disk refuses. Everything here blocks for as long as
// the disk takes.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace mgpu {

// A file that appears at commit() as a whole, replacing an older one. Until then it is a temporary
// next to it, ".mgpu-bench-<hash of the name>-<process>-<n>.tmp", that its writer holds a lock on:
// one that nobody holds was left by a process that was killed, and goes when that file is next
// written. A symbolic link is replaced, not followed; permissions of an older file stay. Every
// function throws Error(output) 'cannot write "FILE": WHY'.
class AtomicFile {
 public:
  // Makes missing parents. Messages call the file `name`, or its path if that is empty.
  explicit AtomicFile(const std::filesystem::path& file, const std::filesystem::path& name = {});
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();  // without commit(): as if it had never been

  void write(std::string_view text);
  // For writers that want a stream: what to open, and to close before commit().
  const std::filesystem::path& temporary() const { return temporary_; }
  // On the disk, by fsync of the file before it takes the name and of the folder after.
  void commit();

 private:
  std::filesystem::path file_, name_, temporary_;
  int fd_ = -1;
};

// Is a file of this name one that is compressed: does the name end in ".gz"?
bool names_gzip(const std::filesystem::path& file);

// Replaces a file that the program itself names, by an AtomicFile.
void write_file_atomically(const std::filesystem::path& file, std::string_view text,
                           const std::filesystem::path& name = {});

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

// Writes a file that the user named. What the name stands for is decided once, when this is made:
// regular files, and those that links lead to, are replaced atomically; "-", what standard output
// is open on, pipes and devices are written once, at the end.
class OutputFile {
 public:
  enum class Mode { replace, append };  // append: at the end of a regular file, once, at the end
  // Makes missing parents and tries whether the file can be written; leaves none behind that was
  // not there. Throws Error(output).
  explicit OutputFile(const std::filesystem::path& name, Mode mode = Mode::replace);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  const std::filesystem::path& name() const { return name_; }
  bool is_standard_output() const { return standard_output_; }
  bool is_replaced() const { return fd_ < 0; }  // by every put()
  // Tells whether there was an older file that was not empty.
  bool had_content() const { return had_content_; }
  // Takes the whole content, and compresses it if the name says so. A regular file has it when this
  // returns; others get the last one by finish(). Throws Error(output).
  void put(std::string_view text);
  void finish();
  void write(std::string_view text) {  // once
    put(text);
    finish();
  }
  // Takes a large content, in place of put() and finish(). Throws Error(output).
  void stream(const std::function<void(std::ostream&)>& write);

 private:
  friend class OutputFiles;
  std::filesystem::path name_, target_;  // target: links followed, absolute
  bool standard_output_ = false, had_content_ = false;
  int fd_ = -1;
  std::string last_;
};

// Holds the outputs of a command, and locks each against other processes.
class OutputFiles {
 public:
  // Throws Error(output), and Error(usage) where another process or output writes it.
  OutputFile& add(const std::filesystem::path& name,
                  OutputFile::Mode mode = OutputFile::Mode::replace);
  OutputFile& at(const std::filesystem::path& name) const;  // that was added
  void remove(const std::filesystem::path& name);
  // Tells whether one of them is standard output, where nothing else is printed then.
  bool take_standard_output() const;

 private:
  struct One {
    OutputFile file;
    std::optional<FileLock> lock;
  };
  std::vector<std::unique_ptr<One>> files_;
};

}  // namespace mgpu
