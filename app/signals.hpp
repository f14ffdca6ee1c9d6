// Ctrl-C and SIGTERM. The first asks the run to stop between samples; the second ends the process at once, so that a hung driver
// cannot hold the terminal. Files are replaced atomically, so what was last saved stays whole.
#pragma once

namespace mgpu {

void install_stop_signals();

// SIGINT or SIGTERM once one has come, else 0.
int stop_signal();

}  // namespace mgpu
