// Ctrl-C and SIGTERM. The first asks the run to stop between samples; the second ends the process
// at once, so that a hung driver cannot hold the terminal. Files are replaced atomically, so what
// was last saved stays whole.
#pragma once

namespace mgpu {

void install_stop_signals();

// For a process that another one tells when to end: the launcher sends them to all.
void ignore_stop_signals();

// A reader of standard output that has ended is an error where something is printed, and not the
// end of the process: tables are printed while measurements go on, which are worth more than `|
// head`.
void outlive_readers();

// SIGINT or SIGTERM once one has come, else 0.
int stop_signal();

}  // namespace mgpu
