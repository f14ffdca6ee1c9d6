// run --resume: what earlier runs left in a result file and its journal, and whether this one may
// go on with it.
#pragma once

#include <filesystem>
#include <string>

#include "lib/report/journal.hpp"
#include "lib/session/options.hpp"

namespace mgpu {

struct Earlier {
  bool complete = false;  // nothing is left to do; all else is empty then
  Journal journal;
  Report report;  // the rows and faults of the groups that are finished
};

// Looks at `result_file` and its journal. Throws Error(input): there is neither, one does not
// belong to the other, or is damaged.
Earlier read_earlier(const std::filesystem::path& result_file);

// Lets the session begin where the earlier one ended; what it takes is moved. Throws Error(usage),
// naming the first difference, when it has another configuration than `now`.
void go_on(Earlier& earlier, const std::filesystem::path& result_file, const Configuration& now,
           SessionOptions& session, Report& begun);

// For the id of a report: 16 random hexadecimal digits.
std::string random_id();

}  // namespace mgpu
