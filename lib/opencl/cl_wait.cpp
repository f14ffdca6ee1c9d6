#include "lib/opencl/cl_wait.hpp"

#include <thread>

namespace mgpu {

void wait_for_event(Backend& backend, const cl::Event& event, const std::string& who, Nanos limit,
                    WaitPolicy look) {
  const auto done = [&] {
    const cl_int status = status_of(event);
    if (status < 0) throw cl::Error(status, "a command");
    return status == CL_COMPLETE;
  };
  const auto rest = [look] {
    if (look == WaitPolicy::spin) return std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  };
  wait_until(backend, who, limit, backend.limits().stop, done, rest);
}

}  // namespace mgpu
