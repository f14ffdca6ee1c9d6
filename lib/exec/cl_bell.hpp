// A bell that an OpenCL event rings.
#pragma once

#include <memory>
#include <utility>

#include "lib/exec/bell.hpp"
#include "lib/exec/cl_common.hpp"

namespace mgpu {

// Once, when the event completes, or at once if it has; on a thread of the driver, which may be after the device is closed. An
// event that fails need not ring. Throws cl::Error.
inline void ring_when_complete(const cl::Event& event, std::shared_ptr<Bell> bell) {
  auto kept = std::make_unique<std::shared_ptr<Bell>>(std::move(bell));
  const auto ring = [](cl_event, cl_int, void* data) {
    const std::unique_ptr<std::shared_ptr<Bell>> rung(static_cast<std::shared_ptr<Bell>*>(data));
    (*rung)->ring();
  };
  const cl_int status = clSetEventCallback(event(), CL_COMPLETE, ring, kept.get());
  if (status != CL_SUCCESS) throw cl::Error(status, "clSetEventCallback");
  static_cast<void>(kept.release());
}

}  // namespace mgpu
