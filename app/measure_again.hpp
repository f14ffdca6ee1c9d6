// `compare --confirm`: cases that regressed are measured once more, with the options of the run in
// which they did.
#pragma once

#include "app/commands.hpp"
#include "lib/report/comparison.hpp"

namespace mgpu {

// The cases of `fresh` whose rows in `comparison` are regressions, run by this program with the
// options of the run that made `fresh`. Throws Error(input) when that was no run.
Report measure_again(const Context& context, const Report& fresh, const Comparison& comparison);

}  // namespace mgpu
