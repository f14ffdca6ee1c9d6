// Sizes of problems that were given none: chosen by calibrated rates, or those of an earlier
// result.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "app/commands.hpp"
#include "app/run_request.hpp"

namespace mgpu {

// By suite, ascending.
using KnownSizes = std::map<std::string, std::vector<std::uint64_t>>;

// The sizes of a result's cases, but for those with an input file.
KnownSizes sizes_of(const Report& report, std::span<const SuiteInfo> suites);
// The sizes of the problems of a run that is to be resumed.
KnownSizes sizes_of(const Configuration& configuration, std::span<const SuiteInfo> suites);

// Completes the problems of a request that waits for sizes (RunRequest::sizes), and says on stderr
// what was chosen, unless it is quiet. `known` wins where it has the suite. Else each size is the
// one that the device which is fastest alone takes about 100 ms for (lib/predict/size_choice.hpp),
// by rates that are cached, or, if `measures`, measured now for one device of each kind; the
// suite's default where no rate is known. Throws Error(usage) for what the suite does not do or
// memory does not hold.
void choose_sizes(const Context& context, Backend& backend, std::span<const Device> devices,
                  const KnownSizes& known, bool measures, RunRequest& request,
                  std::vector<std::string>& warnings);

}  // namespace mgpu
