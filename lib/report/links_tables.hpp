// Prints the measurements of `links` for people.
#pragma once

#include <string>

#include "lib/report/table_writer.hpp"

namespace mgpu {

// Returns matrices as nvbandwidth prints them (rows: sources, columns: destinations), transfers at
// the same time, latencies, and a table per collective with the columns of nccl-tests. GB/s are
// 10^9 bytes per second. Omits what was not measured.
std::string links_tables(const Report& report, const TableStyle& style);

}  // namespace mgpu
