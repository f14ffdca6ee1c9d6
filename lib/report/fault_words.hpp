// What is said of faults: the same words in tables, closing words, comparisons and exports. Pure
// text, nothing printable() has seen.
#pragma once

#include <string>
#include <vector>

#include "lib/report/record.hpp"
#include "lib/report/table_writer.hpp"

namespace mgpu {

std::string grouped(Items n);  // "1,024"

// "device 0:1 hung"
std::string what_happened(const Fault& fault);

// "7 of 8": how many devices a case was measured on, and how many it was asked for where that is
// more.
std::string devices_text(const RunRecord& run);

// What must be known before two cases, or a row and its numbers, are taken for what they seem: each
// once, in a few words. Empty for a case without faults on all devices it was asked for.
std::vector<std::string> fault_notes(const RunRecord& run);

// "device 0:1 failed in the 3rd sample (...); its 1,024 items were computed again by the others,
// which took 4.8 ms; this sample is not part of the figures." `run`: whose fault it is, none for
// one of no case.
std::string fault_sentence(const Fault& fault, const RunRecord* run);

// All faults of the report, one row each; empty when there are none.
std::string fault_table(const Report& report, const TableStyle& style);

}  // namespace mgpu
