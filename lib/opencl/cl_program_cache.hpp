// Built programs, cached on disk: text + options + device + driver -> binary. A file that does not
// match its whole key, or that the driver refuses, is replaced by a new build.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "lib/opencl/cl_common.hpp"

namespace mgpu {

// Builds a program without the cache, as ClProgramCache::build does when nothing is cached. `file`
// is its name in messages, `log_lines` how many lines of the log they quote.
cl::Program build_cl_program(const cl::Context& context, const cl::Device& device,
                             std::string_view file, std::string_view text,
                             const std::string& options, std::size_t log_lines);

// Returns the options without hints to one vendor's compiler, which change no result: those that
// begin with "-cl-nv-".
std::string without_hints(const std::string& options);

class ClProgramCache {
 public:
  // An empty path disables the cache.
  explicit ClProgramCache(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // Returns a built program for the one device of `context`; blocks in the driver for as long as
  // its compiler takes. Throws Error(unsupported) with the first lines of the compiler's log if it
  // refuses the text or the options, Error(device) if anything else is wrong. A cache that cannot
  // be read or written costs time, but does not fail the run.
  cl::Program build(const cl::Context& context, const cl::Device& device, std::string_view file,
                    std::string_view text, const std::string& options) const;

 private:
  std::filesystem::path folder_;
};

}  // namespace mgpu
