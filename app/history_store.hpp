// Labels results and adds them to the folder of a history, for `run` and `history`.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "app/settings.hpp"
#include "lib/report/record.hpp"

namespace mgpu {

// Returns the commit of the git work tree that has the folder, read from its files; none if it is
// in no work tree, or has no commit yet.
std::optional<std::string> git_head(const std::filesystem::path& folder);

// Returns the labels of --label, and `commit` from the work tree of the current folder unless it is
// given. Throws Error(usage).
std::map<std::string, std::string> read_labels(const Settings& settings);

// Creates the folder if it is missing. Throws Error(output) if nothing can be written there.
void check_history(const std::filesystem::path& folder);

// Ids of results, with the cases that a history has of each.
using KnownCases = std::set<std::pair<std::string, std::string>>;
// Creates the folder if it is missing. Throws Error(output), Error(input).
KnownCases known_cases(const std::filesystem::path& folder);

// Appends the cases of the report that are not known, and says on stderr how many, unless it is
// quiet. `name`: of the result. Throws Error(output), Error(input).
void add_to_history(const std::filesystem::path& folder, const Report& report,
                    const std::string& name, bool quiet, KnownCases& known);

}  // namespace mgpu
