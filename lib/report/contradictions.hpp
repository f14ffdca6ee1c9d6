// Figures of a result file that are not those of its own samples. Pure.
#pragma once

#include <string>
#include <vector>

#include "lib/report/record.hpp"

namespace mgpu {

// Returns a line for each figure of a case that contradicts what it is made of, by its field:
// "time_ns.median: 1; its samples have 1460000". Files that this tool wrote have none.
std::vector<std::string> contradictions(const RunRecord& run);

}  // namespace mgpu
