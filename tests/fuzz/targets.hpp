// What the fuzzers feed: a function per parser that takes any bytes, and either uses what was read
// as the program would or meets with one of the refusals of bad input. Anything else (another
// exception, a crash, what a sanitizer says) is a find. With MGPU_FUZZ each becomes a libFuzzer
// program; the inputs they kept, in corpus/NAME/, are replayed by the tests.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "lib/base/error.hpp"

namespace mgpu::fuzz {

// Of lib alone.
void result(
    std::string_view input);  // a result file: read, shown, exported, written and read again
void scenario(std::string_view input);     // a scenario: read, and simulated where it is small
void from_result(std::string_view input);  // simulate --from: a result as a scenario
void compare(std::string_view input);      // two results, a line "----" between them
void calibration(std::string_view input);  // files of the calibration store
void values(std::string_view input);       // what options take: the first byte says which parser
void npy(std::string_view input);          // a NumPy file
void gzip(std::string_view input);         // a compressed file
void host(std::string_view input);         // files of /proc and /sys

// Of app/ and suites/.
void config(std::string_view input);      // a --config file, to the request of a run
void command(std::string_view input);     // a command line, an argument a line, likewise
void terms(std::string_view input);       // --input of every suite
void descriptor(std::string_view input);  // of suite kernel, to what slices have of its arrays

// Runs f; refusals of bad input are well.
template <typename F>
void refusing(F f) {
  try {
    f();
  } catch (const Error& error) {
    const ErrorKind kind = error.kind();
    if (kind != ErrorKind::usage && kind != ErrorKind::input && kind != ErrorKind::unsupported &&
        kind != ErrorKind::output)
      throw;
    // One line, whatever names the input held: what is printed is escaped, but a message is made of
    // one.
    if (std::string_view(error.what()).empty()) throw;
  }
}

// A folder of this process, in memory where there is such; files in it are written over, and go
// with it.
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
