// The end of a session, whatever began it: from its report to files, tables and an exit code.
#pragma once

#include "app/exit_codes.hpp"
#include "app/run_observer.hpp"
#include "app/run_request.hpp"
#include "lib/report/table_writer.hpp"

namespace mgpu {

// Saves and prints what the request asks for. The worst of what happened: an unwritable file, a
// failed case, a signal.
ExitCode conclude(const Report& report, const RunRequest& request, RunObserver& observer,
                  const TableStyle& style);

}  // namespace mgpu
