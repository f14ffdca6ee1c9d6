// Runs a user's kernel in another process before this one runs it on a CPU: if it accesses memory
// far outside of its arguments, it ends only that process.
#pragma once

#include <string>

#include "lib/workload/workload.hpp"
#include "suites/kernel/problem.hpp"

namespace mgpu::kernel {

// Sets the function that does it; without one, kernels run in this process at once.
void set_other_process(SuiteInfo::Descriptors::OtherProcess run);

// Throws Error(input) if the kernel crashes the other process. The message says what ended it and,
// if a second process with more memory around the arguments finds it, the argument. Examples are
// not tried.
void refuse_a_crash(const SuiteParams& params, const Problem& problem);

}  // namespace mgpu::kernel
