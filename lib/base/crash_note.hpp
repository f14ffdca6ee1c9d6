// What is said when a signal such as SIGSEGV ends the process while code that is not ours runs.
#pragma once

#include <string>

namespace mgpu {

// While one lives, a signal of a crash (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT) first writes its
// line to standard error, with the name of the signal; of several, that of the last one made. The
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
