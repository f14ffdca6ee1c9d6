// Sizes of problems that were given none: chosen by calibrated rates, or taken from an earlier
// result.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "app/commands.hpp"
#include "app/run_request.hpp"

namespace mgpu {

// Sizes by suite, ascending.
using KnownSizes = std::map<std::string, std::vector<std::uint64_t>>;

// Returns the sizes of a result's cases, except those with an input file.
KnownSizes sizes_of(const Report& report, std::span<const SuiteInfo> suites);
// Returns the sizes of the problems of a run that is to be resumed.
KnownSizes sizes_of(const Configuration& configuration, std::span<const SuiteInfo> suites);

// Completes the problems of a request without sizes (RunRequest::sizes), and prints on stderr what
// was chosen, unless it is quiet. Sizes in `known` win. Else a size is chosen so that the device
// that is fastest alone takes about 100 ms (lib/predict/size_choice.hpp). Rates for this are cached
// or, if `measures`, measured now on one device of each kind; without a rate, the suite's default
// size is used. Measures nothing once the backend's limits say stop. `most`: number of devices that
// share a problem. Throws Error(usage) for a size that the suite cannot do or that does not fit in
// memory.
void choose_sizes(const Context& context, Backend& backend, std::span<const Device> devices,
                  std::size_t most, const KnownSizes& known, bool measures, RunRequest& request,
                  std::vector<std::string>& warnings);

// Returns a line for each problem of which some of so many devices would get nothing, and the size
// that can be split: "merkle of 4 leaves: 1 item cannot be split over 2 devices; --size 64 can be".
std::vector<std::string> unsplit_problems(std::span<const Problem> problems, std::size_t devices);

}  // namespace mgpu
