// Figures of NCCL beside those of `links`: reads what nccl-tests and rccl-tests print
// (github.com/NVIDIA/nccl-tests, doc/PERFORMANCE.md), whose sizes and bandwidths are those of
// `links`.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "lib/report/record.hpp"

namespace mgpu {

struct NcclTestsRow {
  std::string collective, type, redop;  // as `links` names them
  std::size_t devices = 0;              // 0: the text does not list them
  Bytes bytes = 0;
  Nanos time{};  // of a call, out of place
};

// Returns the rows of `text`, the output of one or more of its programs, in order. A program is
// known by its name, such as all_reduce_perf, in a line before its rows. Throws Error(input) that
// says which line is wrong, or that there are no rows.
std::vector<NcclTestsRow> read_nccl_tests(std::string_view text);

// Notes the time of a row in the case of the report with this collective, size, type, operation and
// number of devices, back to back. Returns the number of cases that have one.
std::size_t add_nccl_tests(const std::vector<NcclTestsRow>& rows, Report& report);

}  // namespace mgpu
