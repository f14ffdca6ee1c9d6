// Handling of SIGINT, SIGTERM and SIGHUP. The first signal asks the current work to stop, and ends
// the process two seconds later if it has not: a driver or a long computation on the host may block
// it. A second signal ends the process at once. Files are replaced atomically, so the last saved
// state stays whole.
#pragma once

#include <string>

#include "app/exit_codes.hpp"

namespace mgpu {

// Installs the handlers; a SIGHUP that is ignored (nohup) stays ignored. May be called repeatedly.
void install_stop_signals();

// Ignores the signals, in a process that another one tells when to end: launchers send signals to
// all ranks.
void ignore_stop_signals();

// Ignores SIGPIPE: a reader of standard output that has ended (`| head`) then is an error of
// printing, but does not end the process, whose measurements are worth more.
void outlive_readers();

// Returns the signal that came; 0: none.
int stop_signal();

// Returns 128 + the signal that came.
ExitCode stop_code();

// Sets the text printed when a signal ends the process after two seconds: where the user finds what
// was measured.
void set_last_words(const std::string& text);

// Cancels the two seconds' limit: work has stopped, and saving it may take longer.
void stopped_in_time();

}  // namespace mgpu
