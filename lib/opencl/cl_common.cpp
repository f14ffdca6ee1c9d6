// Names of OpenCL status codes and the kinds of Error that they become.
#include "lib/opencl/cl_common.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

cl_int CL_API_CALL mgpu_device_info(cl_device_id device, cl_device_info name, std::size_t size,
                                    void* value, std::size_t* size_needed) {
  const cl_int status = clGetDeviceInfo(device, name, size, value, size_needed);
  if (status != CL_SUCCESS && name == CL_DEVICE_PLATFORM && size == sizeof(cl_platform_id))
    *static_cast<cl_platform_id*>(value) = nullptr;
  return status;
}

cl_int CL_API_CALL mgpu_platform_info(cl_platform_id platform, cl_platform_info name,
                                      std::size_t size, void* value, std::size_t* size_needed) {
  constexpr std::string_view kVersion("OpenCL 3.0 \0", 12);
  const cl_int status = platform == nullptr
                            ? CL_INVALID_PLATFORM
                            : clGetPlatformInfo(platform, name, size, value, size_needed);
  if (status != CL_SUCCESS && name == CL_PLATFORM_VERSION) {
    if (value != nullptr) kVersion.copy(static_cast<char*>(value), size);
    if (size_needed != nullptr) *size_needed = kVersion.size();
  }
  return status;
}

namespace mgpu {
namespace {

// All of OpenCL 3.0; and, by number, of extensions and of NVIDIA's driver.
#define NAMED(code) \
  std::pair { code, #code }
constexpr std::array kStatusNames = {
    NAMED(CL_DEVICE_NOT_FOUND),
    NAMED(CL_DEVICE_NOT_AVAILABLE),
    NAMED(CL_COMPILER_NOT_AVAILABLE),
    NAMED(CL_MEM_OBJECT_ALLOCATION_FAILURE),
    NAMED(CL_OUT_OF_RESOURCES),
    NAMED(CL_OUT_OF_HOST_MEMORY),
    NAMED(CL_PROFILING_INFO_NOT_AVAILABLE),
    NAMED(CL_MEM_COPY_OVERLAP),
    NAMED(CL_IMAGE_FORMAT_MISMATCH),
    NAMED(CL_IMAGE_FORMAT_NOT_SUPPORTED),
    NAMED(CL_BUILD_PROGRAM_FAILURE),
    NAMED(CL_MAP_FAILURE),
    NAMED(CL_MISALIGNED_SUB_BUFFER_OFFSET),
    NAMED(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST),
    NAMED(CL_COMPILE_PROGRAM_FAILURE),
    NAMED(CL_LINKER_NOT_AVAILABLE),
    NAMED(CL_LINK_PROGRAM_FAILURE),
    NAMED(CL_DEVICE_PARTITION_FAILED),
    NAMED(CL_KERNEL_ARG_INFO_NOT_AVAILABLE),
    NAMED(CL_INVALID_VALUE),
    NAMED(CL_INVALID_DEVICE_TYPE),
    NAMED(CL_INVALID_PLATFORM),
    NAMED(CL_INVALID_DEVICE),
    NAMED(CL_INVALID_CONTEXT),
    NAMED(CL_INVALID_QUEUE_PROPERTIES),
    NAMED(CL_INVALID_COMMAND_QUEUE),
    NAMED(CL_INVALID_HOST_PTR),
    NAMED(CL_INVALID_MEM_OBJECT),
    NAMED(CL_INVALID_IMAGE_FORMAT_DESCRIPTOR),
    NAMED(CL_INVALID_IMAGE_SIZE),
    NAMED(CL_INVALID_SAMPLER),
    NAMED(CL_INVALID_BINARY),
    NAMED(CL_INVALID_BUILD_OPTIONS),
    NAMED(CL_INVALID_PROGRAM),
    NAMED(CL_INVALID_PROGRAM_EXECUTABLE),
    NAMED(CL_INVALID_KERNEL_NAME),
    NAMED(CL_INVALID_KERNEL_DEFINITION),
    NAMED(CL_INVALID_KERNEL),
    NAMED(CL_INVALID_ARG_INDEX),
    NAMED(CL_INVALID_ARG_VALUE),
    NAMED(CL_INVALID_ARG_SIZE),
    NAMED(CL_INVALID_KERNEL_ARGS),
    NAMED(CL_INVALID_WORK_DIMENSION),
    NAMED(CL_INVALID_WORK_GROUP_SIZE),
    NAMED(CL_INVALID_WORK_ITEM_SIZE),
    NAMED(CL_INVALID_GLOBAL_OFFSET),
    NAMED(CL_INVALID_EVENT_WAIT_LIST),
    NAMED(CL_INVALID_EVENT),
    NAMED(CL_INVALID_OPERATION),
    NAMED(CL_INVALID_GL_OBJECT),
    NAMED(CL_INVALID_BUFFER_SIZE),
    NAMED(CL_INVALID_MIP_LEVEL),
    NAMED(CL_INVALID_GLOBAL_WORK_SIZE),
    NAMED(CL_INVALID_PROPERTY),
    NAMED(CL_INVALID_IMAGE_DESCRIPTOR),
    NAMED(CL_INVALID_COMPILER_OPTIONS),
    NAMED(CL_INVALID_LINKER_OPTIONS),
    NAMED(CL_INVALID_DEVICE_PARTITION_COUNT),
    NAMED(CL_INVALID_PIPE_SIZE),
    NAMED(CL_INVALID_DEVICE_QUEUE),
    NAMED(CL_INVALID_SPEC_ID),
    NAMED(CL_MAX_SIZE_RESTRICTION_EXCEEDED),
    std::pair{-1000, "CL_INVALID_GL_SHAREGROUP_REFERENCE_KHR"},
    std::pair{-1001, "CL_PLATFORM_NOT_FOUND_KHR"},
    std::pair{-1057, "CL_DEVICE_PARTITION_FAILED_EXT"},
    std::pair{-1058, "CL_INVALID_PARTITION_COUNT_EXT"},
    std::pair{-9999, "illegal read or write by a kernel"},
};
#undef NAMED

}  // namespace

Nanos host_now() {
  return std::chrono::duration_cast<Nanos>(std::chrono::steady_clock::now().time_since_epoch());
}

std::string cl_status_name(cl_int status) {
  for (const auto& [code, name] : kStatusNames) {
    if (code == status) return std::string(name) + " (" + std::to_string(status) + ")";
  }
  return "OpenCL status " + std::to_string(status);
}

bool does_not_suit(cl_int status) {
  constexpr std::array kinds = {
      CL_COMPILER_NOT_AVAILABLE,    CL_BUILD_PROGRAM_FAILURE,  CL_LINKER_NOT_AVAILABLE,
      CL_LINK_PROGRAM_FAILURE,      CL_INVALID_BUILD_OPTIONS,  CL_INVALID_PROGRAM_EXECUTABLE,
      CL_INVALID_KERNEL_DEFINITION, CL_INVALID_KERNEL_ARGS,    CL_INVALID_WORK_DIMENSION,
      CL_INVALID_WORK_GROUP_SIZE,   CL_INVALID_WORK_ITEM_SIZE, CL_INVALID_GLOBAL_WORK_SIZE};
  return std::find(kinds.begin(), kinds.end(), status) != kinds.end();
}

Error cl_failure(const std::string& what, cl_int status) {
  const bool memory = status == CL_MEM_OBJECT_ALLOCATION_FAILURE ||
                      status == CL_OUT_OF_HOST_MEMORY || status == CL_INVALID_BUFFER_SIZE;
  return Error(memory                  ? ErrorKind::out_of_memory
               : does_not_suit(status) ? ErrorKind::unsupported
                                       : ErrorKind::device,
               what + ": " + cl_status_name(status));
}

Error allocation_failure(const std::string& what, cl_int status) {
  return cl_failure(what,
                    status == CL_OUT_OF_RESOURCES ? CL_MEM_OBJECT_ALLOCATION_FAILURE : status);
}

}  // namespace mgpu
