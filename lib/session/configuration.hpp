// The configuration that samples must share to be samples of the same cases: equal configurations
// make two sessions one campaign. Pure, except that it looks at input files.
#pragma once

#include "lib/report/journal.hpp"
#include "lib/session/options.hpp"

namespace mgpu {

// Returns the configuration of the session that `options` describe, with the tool, environment and
// options of `begun`. Leaves out time limits of the whole session, which may differ from run to
// run.
Configuration configuration_of(const SessionOptions& options, const Report& begun);

}  // namespace mgpu
