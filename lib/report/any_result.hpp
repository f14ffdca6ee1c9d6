// What `report` and `compare` are given to read: a result of `run` or a file of `links`, whichever
// it says it is.
#pragma once

#include <filesystem>
#include <variant>

#include "lib/report/links_record.hpp"
#include "lib/report/record.hpp"

namespace mgpu {

using AnyResult = std::variant<Report, LinksReport>;

// Reads the file once: it may be a pipe. Throws Error(input) that names the file and what is wrong
// with it; of whatever is not a file of links, as a result.
AnyResult read_any_result(const std::filesystem::path& file);

}  // namespace mgpu
