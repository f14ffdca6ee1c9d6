// The problems of a request: suites, their options, input files and sizes. app/sizes.hpp chooses
// sizes that are not given.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "app/run_request.hpp"
#include "lib/report/record.hpp"

namespace mgpu {

// Throws Error(usage) for a flag that belongs to no chosen suite.
void refuse_foreign_options(const Settings& settings, std::span<const SuiteInfo> suites,
                            std::span<const SuiteInfo* const> chosen);

// Returns the suites with the options that were given as their defaults, for commands that take a
// suite with its defaults. Throws Error(usage) for an unknown value.
std::vector<SuiteInfo> with_given_defaults(const Settings& settings,
                                           std::span<const SuiteInfo* const> chosen);

// Sets the request's problems, how their sizes are found, and the strategy of a sweep if none is
// named. Throws Error(usage), naming the option, its value and what is expected; Error(input) for a
// file that cannot be read. `memory`: of the host; larger problems are refused.
void read_problems(const Settings& settings, std::span<const SuiteInfo* const> chosen, Bytes memory,
                   RunRequest& request);

// Returns the size with --quick: the suite's, or that of the descriptor that the options name.
std::uint64_t quick_size_of(const Problem& problem);

// Gives the problem its size. Throws Error(usage) for a size that the suite cannot do or that does
// not fit in `memory` of the host. `from`: the option or file that gave the size, for messages.
void complete_problem(Problem& problem, std::uint64_t size, const std::string& from, Bytes memory);

// Adds the defaults of suites and options that an older file lacks, so that its titles are as short
// as those of new results.
void complete_defaults(Report& report, std::span<const SuiteInfo> suites);

// Returns the largest size whose problem fits in `memory`; 1 when none does.
std::uint64_t largest_that_fits(const SuiteInfo& suite, SuiteParams params, Bytes memory);

// Warns on stderr if the result lacks cases because its run was interrupted.
void warn_of_interruption(const std::string& file, const Report& report);

// Prints on stderr which figures of a result contradict its own samples. Returns whether there are
// any.
bool warn_of_contradictions(const std::string& file, const Report& report);

}  // namespace mgpu
