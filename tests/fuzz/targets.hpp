// Targets of the fuzzers: a function per parser that takes any bytes, and either uses the parsed
// data as the program would or gets one of the refusals of bad input. Anything else (another
// exception, a crash, a sanitizer's report) is a finding. With MGPU_FUZZ each becomes a libFuzzer
// program; tests replay the inputs that the fuzzers saved in corpus/NAME/.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "lib/base/error.hpp"

namespace mgpu::fuzz {

// Targets that need only lib.
void result(
    std::string_view input);  // a result file: read, shown, exported, written and read again
void scenario(std::string_view input);     // a scenario: read, and simulated if it is small
void from_result(std::string_view input);  // simulate --from: a result as a scenario
void compare(std::string_view input);      // two results, separated by a line "----"
void history(std::string_view input);      // lines of a history, up to what trend says
void calibration(std::string_view input);  // files of the calibration store
void values(std::string_view input);       // values of options: the first byte selects the parser
void npy(std::string_view input);          // a NumPy file
void gzip(std::string_view input);         // a compressed file
void host(std::string_view input);         // files of /proc and /sys
void command_log(std::string_view input);  // a log of the profiling layer, up to its report
void profile(std::string_view input);      // a file of profile

// Targets that need app/ and suites/.
void config(std::string_view input);  // a --config file, to the request of a run
// A command line, one argument per line, to the request of a run.
void command(std::string_view input);
void terms(std::string_view input);  // --input of every suite
// A descriptor of suite kernel, up to the arrays' parts in slices.
void descriptor(std::string_view input);

// Runs f and accepts refusals of bad input.
template <typename F>
void refusing(F f) {
  try {
    f();
  } catch (const Error& error) {
    const ErrorKind kind = error.kind();
    if (kind != ErrorKind::usage && kind != ErrorKind::input && kind != ErrorKind::unsupported &&
        kind != ErrorKind::output)
      throw;
    // A refusal must have a message.
    if (std::string_view(error.what()).empty()) throw;
  }
}

// Returns a folder of this process, in memory if there is a memory file system. Files in it are
// overwritten, and it is removed at exit.
inline const std::filesystem::path& scratch() {
  struct Folder {
    Folder() {
      const std::filesystem::path shm = "/dev/shm";
      std::error_code ignored;
      std::string pattern =
          ((std::filesystem::is_directory(shm, ignored) ? shm
                                                        : std::filesystem::temp_directory_path()) /
           "mgpu-fuzz-XXXXXX")
              .string();
      path = ::mkdtemp(pattern.data());
    }
    ~Folder() {
      std::error_code ignored;
      std::filesystem::remove_all(path, ignored);
    }
    std::filesystem::path path;
  };
  static const Folder folder;
  return folder.path;
}

}  // namespace mgpu::fuzz
