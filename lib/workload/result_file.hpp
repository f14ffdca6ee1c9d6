// --output of suites: a file that is whole or not there.
#pragma once

#include <filesystem>
#include <functional>
#include <ostream>

namespace mgpu {

// Makes what `write` writes the content of `file` (OutputFile). Throws Error(output), naming
// --output and the file.
void write_result_file(const std::filesystem::path& file,
                       const std::function<void(std::ostream&)>& write);

}  // namespace mgpu
