// Sizes of problems that were given none: chosen by calibrated rates, or taken from an earlier
// result.
#pragma once

#include <map>
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
// size is used. Throws Error(usage) for a size that the suite cannot do or that does not fit in
// memory.
void choose_sizes(const Context& context, Backend& backend, std::span<const Device> devices,
                  const KnownSizes& known, bool measures, RunRequest& request,
                  std::vector<std::string>& warnings);

}  // namespace mgpu
