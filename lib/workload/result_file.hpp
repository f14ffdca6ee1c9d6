// Writes --save-data of suites: a file that is complete or not there.
#pragma once

#include <filesystem>
#include <functional>
#include <ostream>

namespace mgpu {

// Writes `file` with the content that `write` produces (OutputFile). Throws Error(output), naming
// --save-data and the file.
void write_result_file(const std::filesystem::path& file,
                       const std::function<void(std::ostream&)>& write);

}  // namespace mgpu
