// A notifier that an OpenCL event notifies.
#pragma once

#include <memory>
#include <utility>

#include "lib/exec/notifier.hpp"
#include "lib/opencl/cl_common.hpp"

namespace mgpu {

// Notifies once, when the event completes, or at once if it has. The call comes from a thread of
// the driver, possibly after the device is closed. An event that fails need not notify. Throws
// cl::Error.
inline void notify_when_complete(const cl::Event& event, std::shared_ptr<Notifier> notifier) {
  auto passed = std::make_unique<std::shared_ptr<Notifier>>(std::move(notifier));
  const auto callback = [](cl_event, cl_int, void* data) {
    const std::unique_ptr<std::shared_ptr<Notifier>> received(
        static_cast<std::shared_ptr<Notifier>*>(data));
    (*received)->notify();
  };
  const cl_int status = clSetEventCallback(event(), CL_COMPLETE, callback, passed.get());
  if (status != CL_SUCCESS) throw cl::Error(status, "clSetEventCallback");
  static_cast<void>(passed.release());
}

}  // namespace mgpu
