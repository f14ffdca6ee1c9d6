// The problems of a request: which suites with which options, input files and sizes. What chooses
// sizes that are not given is in app/sizes.hpp.
#pragma once

#include <span>
#include <string>

#include "app/run_request.hpp"
#include "lib/report/record.hpp"

namespace mgpu {

// Throws Error(usage) for a flag that belongs to a suite which is not chosen.
void refuse_foreign_options(const Settings& settings, std::span<const SuiteInfo> suites,
                            std::span<const SuiteInfo* const> chosen);

// Sets the request's problems, how their sizes are found, and, of a sweep, the strategy where none
// is named. Throws Error(usage), naming the option, its value and what is accepted; Error(input)
// for a file that cannot be read. `memory`: of the host; larger problems are refused.
void read_problems(const Settings& settings, std::span<const SuiteInfo* const> chosen, Bytes memory,
                   RunRequest& request);

// Gives the problem its size. Throws Error(usage), with `from`, what named the size, for one that
// the suite does not do, or that does not fit in `memory` of the host.
void complete_problem(Problem& problem, std::uint64_t size, const std::string& from, Bytes memory);

// Adds the defaults of suites and options that an older file does not have, so that its titles are
// as short as those of new ones.
void complete_defaults(Report& report, std::span<const SuiteInfo> suites);

// Largest size whose problem fits in `memory`; 1 when none does.
std::uint64_t largest_that_fits(const SuiteInfo& suite, SuiteParams params, Bytes memory);

// Says on stderr which figures of a result are not those of its own samples. True where there are
// any.
bool warn_of_contradictions(const std::string& file, const Report& report);

}  // namespace mgpu
