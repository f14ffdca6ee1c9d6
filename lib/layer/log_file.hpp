// The file that a process's log goes to.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <span>
#include <string>

namespace mgpu::layer {

class LogFile {
 public:
  // Makes FOLDER/PID.log, or PID-2.log and so on if that exists, with its header. Returns false if
  // that fails.
  bool create(const std::string& folder);
  // Appends whole records. After an error, such as a full disk, nothing more is written. The
  // program may close the file, as some close all that is open: it is then opened again.
  void append(std::span<const std::byte> bytes);

 private:
  bool still_open();

  std::string path_;
  int file_ = -1;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace mgpu::layer
