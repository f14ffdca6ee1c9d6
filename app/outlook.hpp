// What a run is about to do and roughly how long that takes, in words, before it begins.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "app/run_request.hpp"

namespace mgpu {

// "under 1 s", "about 12 s", "about 4 min", "about 1.5 h": more would promise too much.
std::string about(Nanos time);

// Groups of cases that are still to be measured: problems times the modes they have, less what an
// earlier run finished.
std::size_t groups_to_measure(const SessionOptions& session);

// By the stop rule, with allowances for what is done around the samples; none where -n sets their
// number, as nothing is known yet of how long one takes.
std::optional<Nanos> expected_time(const SessionOptions& session);

// "measuring merkle, msm, resident and end to end, under 11 strategies: 44 cases, about 4 min", and
// a line with the devices.
std::string outlook(const SessionOptions& session);

}  // namespace mgpu
