// The overview of a run over many suites: a row per problem, which is the answer to how it should
// be split, and the sentences below. Pure.
#pragma once

#include <string>

#include "lib/report/table_writer.hpp"

namespace mgpu {

// Tells whether the report is of an overview, which Report::options say.
bool is_overview(const Report& report);
// Tells whether its overview is printed instead of a table per problem: unless columns are chosen.
bool shows_overview(const Report& report, const TableStyle& style);

// Returns the heading of the table, a line of at most 80 columns, as those of the rows. The widths
// of columns do not depend on the rows, so that each can be printed as soon as it is there.
std::string overview_heading();

// Returns a line per problem from run `first` of the report on: the best device alone, the best
// split over several devices with its shares and strategy, its gain over that device, its share of
// the ideal gain, and what holds it back. The report has whole groups.
std::string overview_rows(const Report& report, std::size_t first);

// Returns which problems gain by splitting, which do not and why, and what to run next.
std::string overview_sentences(const Report& report);

}  // namespace mgpu
