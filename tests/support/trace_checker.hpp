// Rules to which importers hold traces: the import-error counters of Perfetto that must be zero.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace mgpu::test {

// Returns one line per breach, none for a trace that obeys all rules. `text` is a whole trace file.
std::vector<std::string> check_chrome_trace(std::string_view text);

}  // namespace mgpu::test
