// The layer that records what a program does with OpenCL. It is a library that the loader puts
// between the program and the drivers if OPENCL_LAYERS names it. lib/profile/command_log.hpp
// describes the log and the variables.
#include <dlfcn.h>

#include "lib/layer/calls.hpp"
#include "lib/layer/protocol.hpp"
#include "lib/layer/recorder.hpp"

namespace mgpu::layer {
namespace {

void wrap_calls(const cl_icd_dispatch* following, cl_icd_dispatch& table) {
  next = following;
  if (!begin_recording()) return;
  // The writer's thread may call the loader after the program has unloaded it.
  ::dlopen("libOpenCL.so.1", RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
  wrap_object_calls(table);
  wrap_command_calls(table);
  wrap_wait_calls(table);
}

}  // namespace
}  // namespace mgpu::layer

MGPU_LAYER("mgpu-bench profile", mgpu::layer::wrap_calls)

// Loaders that call this do so when they end, before the drivers.
MGPU_LAYER_EXPORT cl_int CL_API_CALL clDeinitLayer() {
  if (auto* const own = mgpu::layer::recorder.load()) own->stop();
  return CL_SUCCESS;
}
