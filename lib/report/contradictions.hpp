// Finds figures of a result file that contradict its own samples. Pure.
#pragma once

#include <string>
#include <vector>

#include "lib/report/record.hpp"

namespace mgpu {

// Returns a line per figure of a case that contradicts the samples it is made of, by its field:
// "time_ns.median: 1; its samples have 1460000". Files that this tool wrote have none.
std::vector<std::string> contradictions(const RunRecord& run);

}  // namespace mgpu
