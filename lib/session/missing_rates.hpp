// Rates that a session lacks, and the handling of devices that fail while they are measured.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>

#include "lib/predict/size_choice.hpp"
#include "lib/predict/suite_rates.hpp"
#include "lib/session/group.hpp"

namespace mgpu {

// Callback for a device that failed while its rate was measured (SessionDevice::lost: it is not
// used any more), with the error.
using RateFailed = std::function<void(const SessionDevice&, const Error&)>;

// Adds to `rates` the missing rates of the devices, which compute in `variants`, by device id. A
// device that fails gets no rate; one that may then still be at work is marked failed. Calls
// `failed` in both cases. Stops measuring once the backend's limits say stop. `turns`:
// ProbeSize::most_turns.
void measure_missing_rates(Backend& backend, Executor& executor, const Problem& problem,
                           const std::map<std::string, std::string>& variants,
                           std::span<SessionDevice> devices, SuiteRates& rates,
                           const RateFailed& failed, std::size_t turns = 0);

// Chooses the size of a problem that has none: executes small ones on one device of each kind, each
// larger than the one before, until the rates tell which size is nearest to the aim within the
// limits. Sets `rates`, of all devices of those kinds, which are none if nothing could be executed;
// the size is then the last that was tried. `verify`: how the host checks each trial, whose time
// counts for `limits.host`.
std::uint64_t size_by_trials(Backend& backend, Executor& executor, const Problem& problem,
                             const std::map<std::string, std::string>& variants,
                             std::span<SessionDevice> devices, const SizeLimits& limits,
                             VerifyLevel verify, SuiteRates& rates, const RateFailed& failed);

// Removes the rates of CPUs: other programs use CPUs as well, so that an old figure would be worse
// than none.
void forget_cpus(std::span<const SessionDevice> devices, SuiteRates& rates);

}  // namespace mgpu
