// What `links` measured, as text for people.
#pragma once

#include <string>

#include "lib/report/links_record.hpp"
#include "lib/report/table_writer.hpp"

namespace mgpu {

// Matrices as nvbandwidth prints them (rows: sources, columns: destinations), everything at once,
// latencies, and a table a collective with the columns of nccl-tests. GB/s are 10^9 bytes per
// second. What was not measured is left out.
std::string links_tables(const LinksReport& report, const TableStyle& style);

}  // namespace mgpu
