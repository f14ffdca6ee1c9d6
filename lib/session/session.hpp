// A session: problems x modes x strategies x device counts on one set of devices, measured,
// verified and recorded. The only place that uses all layers; session.cpp reads from top to bottom
// in the order of a run. Reads no argv and prints nothing: it runs on the fake backend as it does
// on OpenCL.
#pragma once

#include "lib/exec/backend.hpp"
#include "lib/report/record.hpp"
#include "lib/session/observer.hpp"
#include "lib/session/options.hpp"

namespace mgpu {

// Runs a session. Fills devices, runs and complete. The caller sets tool and environment in
// `begun`, and, to resume a session, the runs and faults of finished groups and the devices of
// earlier runs. Failures of cases are rows with a status, never exceptions. Throws Error(no_device)
// when no device could be opened, Error(input) when the journal belongs to other cases.
Report run_session(Backend& backend, const SessionOptions& options, Report begun,
                   SessionObserver& observer);

}  // namespace mgpu
