// A session: problems x modes x strategies x device counts on one set of devices, measured,
// verified and recorded. The one place where all layers meet; session.cpp reads from top to bottom
// like the run it makes. Without argv and without printing: it runs on the fake backend as it does
// on OpenCL.
#pragma once

#include "lib/exec/backend.hpp"
#include "lib/report/record.hpp"
#include "lib/session/observer.hpp"
#include "lib/session/options.hpp"

namespace mgpu {

// Fills devices, runs and complete; tool and environment are the caller's (`begun` holds them), as
// are, where the session goes on, the runs and faults of the groups that are finished, and the
// devices of earlier runs. Failures of cases are rows with a status, never exceptions. Throws
// Error(no_device) when no device could be opened, Error(input) when the journal is of other cases.
Report run_session(Backend& backend, const SessionOptions& options, Report begun,
                   SessionObserver& observer);

}  // namespace mgpu
