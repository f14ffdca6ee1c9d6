// Texts about faults, the same in tables, summaries, comparisons and exports. Pure; the texts have
// not been through printable().
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/report/record.hpp"
#include "lib/report/table_writer.hpp"

namespace mgpu {

std::string grouped(Items n);  // returns "1,024"

// Returns "device 0:1 hung".
std::string what_happened(const Fault& fault);

// Returns the number of devices that a case was measured on; "7 of 8" if more were requested.
std::string devices_text(const RunRecord& run);

// Returns notes that a reader needs before comparing or quoting the case, each once, in a few
// words. Empty for a case on all requested devices without faults.
std::vector<std::string> fault_notes(const RunRecord& run);

// Returns "other programs used about 30 % of the cores", a warning of a case; "70-100 %" for loads
// that differ. Shares are 0 to 1.
std::string other_load_words(std::span<const double> shares);
// Returns the share if the warning is that of one load.
std::optional<double> other_load_in(const std::string& warning);

// Tells whether the case was left out because its strategy reassigns work, which iterative work
// does not allow.
bool is_inapplicable(const RunRecord& run);

// Returns "device 0:1 failed in the 3rd sample (...); its 1,024 items were computed again by the
// others, which took 4.8 ms; this sample is not part of the figures." `run`: the run with the
// fault; null if it belongs to no case.
std::string fault_sentence(const Fault& fault, const RunRecord* run);

// Returns a table of all faults of the report, one row each; empty if there are none.
std::string fault_table(const Report& report, const TableStyle& style);

}  // namespace mgpu
