// The end of a session: from its report to files, tables and an exit code.
#pragma once

#include "app/exit_codes.hpp"
#include "app/run_observer.hpp"
#include "app/run_request.hpp"
#include "lib/report/table_writer.hpp"

namespace mgpu {

// Prints the tables that the observer has not printed yet, and what comes below them.
void print_results(const Report& report, RunObserver& observer, const TableStyle& style);

// Saves and prints what the request asks for. Returns the worst of all exit codes: unwritable file,
// failed case, signal.
ExitCode finish_run(const Report& report, const RunRequest& request, RunObserver& observer,
                    const TableStyle& style);

}  // namespace mgpu
