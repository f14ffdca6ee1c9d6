// Output files that are written whole or not at all, survive a crash, and have one writing process
// at a time. POSIX, because only its error numbers say why a disk refuses. Every function blocks as
// long as the disk takes.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mgpu {

// A file that appears at commit() as a whole, replacing an older one. Until then it is a temporary
// next to it, ".mgpu-bench-<hash of the name>-<process>-<n>.tmp", on which its writer holds a lock.
// A temporary without a lock was left by a killed process; it is removed when that file is next
// written. A symbolic link is replaced, not followed; permissions of an older file are preserved.
// Every function throws Error(output) 'cannot write "FILE": WHY'.
class AtomicFile {
 public:
  // Creates missing parent folders. Messages call the file `name`, or its path if that is empty.
  explicit AtomicFile(const std::filesystem::path& file, const std::filesystem::path& name = {});
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();  // without commit(): leaves no trace

  void write(std::string_view text);
  // Returns the file that writers of a stream open, and close before commit().
  const std::filesystem::path& temporary() const { return temporary_; }
  // Moves the content to the disk: fsync of the file before the rename and of the folder after it.
  void commit();

 private:
  std::filesystem::path file_, name_, temporary_;
  int fd_ = -1;
};

// Tells whether a file of this name is compressed: whether the name ends in ".gz".
// Appends lines, each with its line end, to a file to which other processes may append as well:
// waits for them, ends a line that a killed process left unfinished, and writes each line at once.
// They are on the disk when it returns. Throws Error(output).
void append_lines(const std::filesystem::path& file, std::span<const std::string> lines);

bool names_gzip(const std::filesystem::path& file);

// Replaces a file that the program itself names, with an AtomicFile.
void write_file_atomically(const std::filesystem::path& file, std::string_view text,
                           const std::filesystem::path& name = {});

// While it exists, no other process gets one for the same file. The lock is on ".mgpu-bench-<hash
// of the name>.lock" next to it, because every AtomicFile replaces the file itself. It ends with
// the process, for whatever reason. On file systems without locks (some network file systems), and
// for anything but a regular file, it locks nothing.
class FileLock {
 public:
  // Throws Error(usage) that names `file` and the process when another process has it.
  explicit FileLock(const std::filesystem::path& file);
  // Tells whether a process, this one too, has the lock of this file. Writes nothing.
  static bool is_held(const std::filesystem::path& file);
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&&) = delete;
  ~FileLock();

 private:
  std::filesystem::path path_;
  int fd_ = -1;
};

// Writes a file that the user named. The constructor decides once what the name stands for: regular
// files, and links to them, are replaced atomically; "-", the file behind standard output, pipes
// and devices are written once, at the end.
class OutputFile {
 public:
  enum class Mode { replace, append };  // append: writes once, at the end of a regular file
  // Creates missing parent folders and checks that the file can be written, without leaving a new
  // file behind. Throws Error(output).
  explicit OutputFile(const std::filesystem::path& name, Mode mode = Mode::replace);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  const std::filesystem::path& name() const { return name_; }
  bool is_standard_output() const { return standard_output_; }
  bool is_replaced() const { return fd_ < 0; }  // put() replaces the whole file
  // Tells whether there was an older file that was not empty.
  bool had_content() const { return had_content_; }
  // Takes the whole content, and compresses it if the name says so. A regular file has it when this
  // returns; for others finish() writes the last content. Throws Error(output).
  void put(std::string_view text);
  void finish();
  void write(std::string_view text) {  // put() and finish(), once
    put(text);
    finish();
  }
  // Writes a large content in place of put() and finish(). Throws Error(output).
  void stream(const std::function<void(std::ostream&)>& write);

 private:
  friend class OutputFiles;
  std::filesystem::path name_, target_;  // target_: absolute, links followed
  bool standard_output_ = false, had_content_ = false;
  int fd_ = -1;
  std::string last_;
};

// The outputs of a command, each locked against other processes.
class OutputFiles {
 public:
  // Throws Error(output), and Error(usage) when another process or output writes the file.
  OutputFile& add(const std::filesystem::path& name,
                  OutputFile::Mode mode = OutputFile::Mode::replace);
  OutputFile& at(const std::filesystem::path& name) const;  // it must have been added
  void remove(const std::filesystem::path& name);
  // Tells whether one of them is standard output, where nothing else may then be printed.
  bool take_standard_output() const;

 private:
  struct One {
    OutputFile file;
    std::optional<FileLock> lock;
  };
  std::vector<std::unique_ptr<One>> files_;
};

}  // namespace mgpu
