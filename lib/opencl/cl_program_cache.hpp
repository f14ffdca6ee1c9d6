// Built programs, cached on disk: text + options + device + driver -> binary. A file that does not
// match its whole key, or that the driver refuses, is built anew and replaced.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "lib/opencl/cl_common.hpp"

namespace mgpu {

// What ClProgramCache::build does where nothing is cached. `file`: how messages name it;
// `log_lines`: how much of the log they have.
cl::Program build_cl_program(const cl::Context& context, const cl::Device& device,
                             std::string_view file, std::string_view text,
                             const std::string& options, std::size_t log_lines);

class ClProgramCache {
 public:
  // An empty folder: nothing is cached.
  explicit ClProgramCache(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // A built program for the one device of `context`; blocks in the driver for as long as its
  // compiler takes. Throws Error(unsupported) with the first lines of the compiler's log where it
  // refuses the text or the options, Error(device) where anything else is wrong. A cache that
  // cannot be read or written costs time, never the run.
  cl::Program build(const cl::Context& context, const cl::Device& device, std::string_view file,
                    std::string_view text, const std::string& options) const;

 private:
  std::filesystem::path folder_;
};

}  // namespace mgpu
