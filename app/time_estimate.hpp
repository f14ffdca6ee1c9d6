// Estimate of a run, in words, before it begins: what it will do, and roughly how long that takes.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "app/run_request.hpp"

namespace mgpu {

// Returns "under 1 s", "about 12 s", "about 4 min" or "about 1.5 h"; more digits would promise too
// much.
std::string about(Nanos time);

// Returns the number of groups of cases still to be measured: problems times their modes, minus
// those that an earlier run finished.
std::size_t groups_to_measure(const SessionOptions& session);

// Returns the number of rows of all tables, with those of an earlier run.
std::size_t rows_of_session(const SessionOptions& session);

struct ExpectedTime {
  Nanos time{};
  bool at_least = false;  // a lower bound, as the rate of a problem is not known
};

// Estimates the run time from the stop rule and the rates of the devices, with allowances for the
// work around samples. Without rates samples count for the least time that the stop rule asks for;
// none if -n sets their number then.
std::optional<ExpectedTime> expected_time(const SessionOptions& session);

// Returns "measuring merkle, msm, resident and end to end, under 11 strategies: 44 cases, about 4
// min" (or "at least 4 min"), and a line with the devices.
std::string time_estimate(const SessionOptions& session);

}  // namespace mgpu
