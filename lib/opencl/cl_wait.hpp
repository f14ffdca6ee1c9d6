// Waiting for one OpenCL event by polling it. clWaitForEvents, clFinish and blocking maps do not
// return from a device that hangs.
#pragma once

#include <functional>
#include <string>

#include "lib/exec/backend.hpp"
#include "lib/opencl/cl_common.hpp"

namespace mgpu {

// Returns CL_QUEUED ... CL_COMPLETE, or a value below zero when the command failed. Throws
// cl::Error.
inline cl_int status_of(const cl::Event& event) {
  return event.getInfo<CL_EVENT_COMMAND_EXECUTION_STATUS>();
}

// Waits until the event's command, whose queue has been flushed, is complete. `who` is for the
// message of wait_until. Throws Error(timeout), Error(interrupted), and cl::Error with the
// command's status when it failed.
void wait_for_event(Backend& backend, const cl::Event& event, const std::string& who, Nanos limit,
                    WaitPolicy look = WaitPolicy::sleep);

}  // namespace mgpu
