// What makes two sessions one campaign: the configuration that samples must share to be samples of
// the same cases. Pure, but that it looks at input files.
#pragma once

#include "lib/report/journal.hpp"
#include "lib/session/options.hpp"

namespace mgpu {

// Of the session that `options` describe, by the tool, in the environment and under the options of
// `begun`. Limits of time of the whole session are not among it: those may differ from run to run.
Configuration configuration_of(const SessionOptions& options, const Report& begun);

}  // namespace mgpu
