// SIGINT, SIGTERM and SIGHUP. The first asks whatever is under way to stop, and ends the process
// two seconds later if that has not helped: a driver or a long computation on the host may hold it.
// The second ends the process at once. Files are replaced atomically, so what was last saved stays
// whole.
#pragma once

#include <string>

#include "app/exit_codes.hpp"

namespace mgpu {

// Begins to handle them; a SIGHUP that is ignored (nohup) stays ignored. May be called repeatedly.
void install_stop_signals();

// For a process that another one tells when to end: the launcher sends them to all.
void ignore_stop_signals();

// A reader of standard output that has ended is an error where something is printed, and not the
// end of the process: tables are printed while measurements go on, which are worth more than `|
// head`.
void outlive_readers();

// Returns the signal that has come; 0: none.
int stop_signal();

// Returns 128 + the signal that has come.
ExitCode stop_code();

// Sets what is printed when the process is ended two seconds after a signal: where the user finds
// what was measured.
void set_last_words(const std::string& text);

// Takes back the two seconds: what was under way has stopped, and saving it may take longer.
void stopped_in_time();

}  // namespace mgpu
