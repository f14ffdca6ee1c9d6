// How a loader (ocl-icd 2.3, Khronos's since 2021) and a layer meet: the parts that any layer has.
#pragma once

#include <algorithm>

#include "lib/layer/opencl.hpp"

#define MGPU_LAYER_EXPORT extern "C" __attribute__((visibility("default")))

namespace mgpu::layer {

// Calls of a table of the headers that this was compiled with. A loader's may have more.
inline constexpr cl_uint kDispatchEntries = sizeof(cl_icd_dispatch) / sizeof(void*);

// Answers clGetLayerInfo for a layer of this name.
template <size_t length>
cl_int answer_layer_info(const char (&name)[length], cl_layer_info what, size_t size, void* value,
                         size_t* size_told) {
  const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
  const bool is_version = what == CL_LAYER_API_VERSION;
  if (!is_version && what != CL_LAYER_NAME) return CL_INVALID_VALUE;
  const void* from = is_version ? static_cast<const void*>(&version) : name;
  const size_t bytes = is_version ? sizeof version : length;
  if (value != nullptr && size < bytes) return CL_INVALID_VALUE;
  if (value != nullptr)
    std::copy_n(static_cast<const char*>(from), bytes, static_cast<char*>(value));
  if (size_told != nullptr) *size_told = bytes;
  return CL_SUCCESS;
}

// The name of a call as an argument of a template.
template <size_t size>
struct CallName {
  char text[size];
  constexpr CallName(const char (&name)[size]) { std::copy(name, name + size, text); }
};

}  // namespace mgpu::layer
