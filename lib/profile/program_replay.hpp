// Replays a program with something changed: how long it would have taken. Pure.
#pragma once

#include <vector>

#include "lib/profile/program.hpp"

namespace mgpu {

// Changes of a replay; with none it returns the recorded makespan.
struct ProgramChange {
  std::vector<Nanos> lengths = {};  // by command; empty: as recorded
  // By command: begins as soon as what it waits for has ended, and enqueuing it, and a loop around
  // several such, takes no time; empty: none does.
  std::vector<bool> at_once = {};
  // Calls return without waiting for commands. What a blocking call did while its queue was empty,
  // before its own command began, is work.
  bool no_waits = false;
  bool no_builds = false;     // programs are built before the first command
  bool no_host_work = false;  // threads do nothing between their calls
  // Transfers run next to kernels: a kernel waits for the uploads before it, a download for the
  // kernels before it, an upload for the kernels before the previous uploads (two sets of buffers),
  // and for the downloads of its buffer before these.
  bool engines = false;
};

// Replays the record. A call waits for the previous call of its thread, the first of a thread for
// the last call of its process that had ended before. A command waits for the call that enqueued
// it, the flush after that, the previous command of an in-order queue, its wait list, and the
// command before it on the same engine (kernels, uploads, downloads) of its device if they did not
// overlap. A blocking call waits for its commands. Time between what was waited for last and the
// begin is kept.
Nanos replay(const ProgramRecord& record, const ProgramChange& change);

}  // namespace mgpu
