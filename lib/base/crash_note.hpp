// The message that is printed when a signal such as SIGSEGV ends the process inside foreign code,
// such as a driver.
#pragma once

#include <string>

namespace mgpu {

// While one exists, a crash signal (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT) first writes its line
// and the signal's name to standard error. If there are several, the latest one is written. The
// process then ends as it would without.
class CrashNote {
 public:
  explicit CrashNote(const std::string& line);
  CrashNote(const CrashNote&) = delete;
  CrashNote& operator=(const CrashNote&) = delete;
  ~CrashNote();

 private:
  std::string line_;
};

}  // namespace mgpu
