// How a loader (ocl-icd 2.3, Khronos's since 2021) and a layer meet: the parts that any layer has.
// Khronos's loaders since 2024 look for clInitLayerWithProperties, others for clInitLayer.
#pragma once

#include <algorithm>

#include "lib/layer/opencl.hpp"

#define MGPU_LAYER_EXPORT extern "C" __attribute__((visibility("default")))

// Defines what loaders look for in a layer of this name. `wrap(next, table)` replaces the entries
// of a table that has the calls of the next layer, or of the drivers.
#define MGPU_LAYER(name, wrap)                                                                   \
  MGPU_LAYER_EXPORT cl_int CL_API_CALL clGetLayerInfo(cl_layer_info what, size_t size,           \
                                                      void* value, size_t* size_told) {          \
    return mgpu::layer::answer_layer_info(name, what, size, value, size_told);                   \
  }                                                                                              \
  MGPU_LAYER_EXPORT cl_int CL_API_CALL clInitLayer(cl_uint entries, const cl_icd_dispatch* next, \
                                                   cl_uint* entries_told,                        \
                                                   const cl_icd_dispatch** told) {               \
    return mgpu::layer::init_layer(entries, next, entries_told, told, wrap);                     \
  }                                                                                              \
  MGPU_LAYER_EXPORT cl_int CL_API_CALL clInitLayerWithProperties(                                \
      cl_uint entries, const cl_icd_dispatch* next, cl_uint* entries_told,                       \
      const cl_icd_dispatch** told, const cl_properties*) {                                      \
    return mgpu::layer::init_layer(entries, next, entries_told, told, wrap);                     \
  }

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

// Gives the loader the table that `wrap` makes of the next layer's.
inline cl_int init_layer(cl_uint entries, const cl_icd_dispatch* following, cl_uint* entries_told,
                         const cl_icd_dispatch** told,
                         void (*wrap)(const cl_icd_dispatch*, cl_icd_dispatch&)) {
  if (following == nullptr || entries_told == nullptr || told == nullptr ||
      entries < kDispatchEntries)
    return CL_INVALID_VALUE;
  static cl_icd_dispatch table;
  table = *following;
  wrap(following, table);
  *told = &table;
  *entries_told = kDispatchEntries;
  return CL_SUCCESS;
}

// The name of a call as an argument of a template.
template <size_t size>
struct CallName {
  char text[size];
  constexpr CallName(const char (&name)[size]) { std::copy(name, name + size, text); }
};

}  // namespace mgpu::layer
