// The layer that records what a program does with OpenCL. It is a library that the loader puts
// between the program and the drivers if OPENCL_LAYERS names it. lib/profile/command_log.hpp
// describes the log and the variables.
#include "lib/layer/calls.hpp"
#include "lib/layer/protocol.hpp"
#include "lib/layer/recorder.hpp"

MGPU_LAYER_EXPORT cl_int CL_API_CALL clGetLayerInfo(cl_layer_info what, size_t size, void* value,
                                                    size_t* size_told) {
  return mgpu::layer::answer_layer_info("mgpu-bench profile", what, size, value, size_told);
}

MGPU_LAYER_EXPORT cl_int CL_API_CALL clInitLayer(cl_uint entries, const cl_icd_dispatch* next,
                                                 cl_uint* entries_told,
                                                 const cl_icd_dispatch** told) {
  using namespace mgpu::layer;
  if (next == nullptr || entries_told == nullptr || told == nullptr || entries < kDispatchEntries)
    return CL_INVALID_VALUE;
  static cl_icd_dispatch table;
  table = *next;
  mgpu::layer::next = next;
  if (begin_recording()) {
    wrap_object_calls(table);
    wrap_command_calls(table);
    wrap_wait_calls(table);
  }
  *told = &table;
  *entries_told = kDispatchEntries;
  return CL_SUCCESS;
}
