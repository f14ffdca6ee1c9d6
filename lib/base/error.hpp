// The one exception type of the library. The kind of failure decides the exit code, in
// app/exit_codes.hpp.
#pragma once

#include <stdexcept>
#include <string>

namespace mgpu {

enum class ErrorKind {
  usage,          // an option or its value is wrong
  input,          // a file the user named cannot be read or is invalid
  output,         // a file the user asked for cannot be written
  no_device,      // no OpenCL platform, or the selection leaves no device
  device,         // a device or its driver failed: other devices may do the work
  out_of_memory,  // the work does not fit; smaller pieces may
  unsupported,    // well formed, but this device or suite cannot do it
  timeout,        // a device did not answer in time
  interrupted,    // the caller cancelled: Ctrl-C, SIGTERM
  internal,       // a bug of this program
};

// The message is one line for a person that names the option or device and the value.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& what) : std::runtime_error(what), kind_(kind) {}
  ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
};

}  // namespace mgpu
