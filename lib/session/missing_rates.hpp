// Rates that a session lacks, and what becomes of devices that fail while they are measured.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>

#include "lib/predict/suite_rates.hpp"
#include "lib/session/group.hpp"

namespace mgpu {

// Called with a device that failed while its rate was measured (SessionDevice::lost: it is lost),
// and with what went wrong.
using RateFailed = std::function<void(const SessionDevice&, const Error&)>;

// Adds to `rates` what is missing for the devices, which compute in `variants`, by device id. Those
// that fail are left without a rate; those that may then still be at work are lost, and `failed` is
// called, as for those that failed and are not. Measures no more once the backend's limits say
// stop. `turns`: ProbeSize::most_turns.
void measure_missing_rates(Backend& backend, Executor& executor, const Problem& problem,
                           const std::map<std::string, std::string>& variants,
                           std::span<SessionDevice> devices, SuiteRates& rates,
                           const RateFailed& failed, std::size_t turns = 0);

// Other programs use CPUs as well: an old figure would be worse than none.
void forget_cpus(std::span<const SessionDevice> devices, SuiteRates& rates);

}  // namespace mgpu
