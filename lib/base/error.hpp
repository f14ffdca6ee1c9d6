// The one exception type of the library. What kind of failure it is decides the exit code, in
// app/exit_codes.hpp.
#pragma once

#include <stdexcept>
#include <string>

namespace mgpu {

enum class ErrorKind {
  usage,          // an option or its value is wrong
  input,          // a file the user named cannot be read, or is not what it should be
  output,         // a file the user asked for cannot be written
  no_device,      // no OpenCL platform, or nothing is left of the selection
  device,         // a device or its driver failed: the work may go elsewhere
  out_of_memory,  // it does not fit; smaller pieces may
  unsupported,    // well formed, but this device or suite cannot do it
  timeout,        // a device did not answer in time
  interrupted,    // whoever asked does not want it any more: Ctrl-C, SIGTERM
  internal,       // our own mistake
};

// Message: one line, for a person, naming the option or device and the value.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& what) : std::runtime_error(what), kind_(kind) {}
  ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
};

}  // namespace mgpu
