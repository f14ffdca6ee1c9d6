// run --resume: reads what earlier runs left in a result file and its journal, and checks whether
// this run may continue it.
#pragma once

#include <filesystem>
#include <string>

#include "lib/report/journal.hpp"
#include "lib/session/options.hpp"

namespace mgpu {

struct Earlier {
  bool complete = false;  // nothing is left to measure; all else is empty then
  Journal journal;
  Report report;  // the rows and faults of the groups that are finished
};

// Reads `result_file` and its journal. Throws Error(input) if both are missing, if they do not
// belong together, or if one is damaged.
Earlier read_earlier(const std::filesystem::path& result_file);

// Makes the session continue where the earlier run ended, and moves the data it needs out of
// `earlier`. Throws Error(usage), naming the first difference, if the configuration is not `now`;
// it may have other devices if the session looks for them again.
void go_on(Earlier& earlier, const std::filesystem::path& result_file, Configuration now,
           SessionOptions& session, Report& begun);

// Returns 16 random hexadecimal digits, for the id of a report.
std::string random_id();

}  // namespace mgpu
