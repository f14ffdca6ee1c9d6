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

constexpr std::array kStatusNames = {
    std::pair{CL_DEVICE_NOT_FOUND, "CL_DEVICE_NOT_FOUND"},
    std::pair{CL_DEVICE_NOT_AVAILABLE, "CL_DEVICE_NOT_AVAILABLE"},
    std::pair{CL_COMPILER_NOT_AVAILABLE, "CL_COMPILER_NOT_AVAILABLE"},
    std::pair{CL_MEM_OBJECT_ALLOCATION_FAILURE, "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
    std::pair{CL_OUT_OF_RESOURCES, "CL_OUT_OF_RESOURCES"},
    std::pair{CL_OUT_OF_HOST_MEMORY, "CL_OUT_OF_HOST_MEMORY"},
    std::pair{CL_PROFILING_INFO_NOT_AVAILABLE, "CL_PROFILING_INFO_NOT_AVAILABLE"},
    std::pair{CL_MAP_FAILURE, "CL_MAP_FAILURE"},
    std::pair{CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST,
              "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"},
    std::pair{CL_DEVICE_PARTITION_FAILED, "CL_DEVICE_PARTITION_FAILED"},
    std::pair{CL_BUILD_PROGRAM_FAILURE, "CL_BUILD_PROGRAM_FAILURE"},
    std::pair{CL_INVALID_VALUE, "CL_INVALID_VALUE"},
    std::pair{CL_INVALID_PLATFORM, "CL_INVALID_PLATFORM"},
    std::pair{CL_INVALID_DEVICE, "CL_INVALID_DEVICE"},
    std::pair{CL_INVALID_CONTEXT, "CL_INVALID_CONTEXT"},
    std::pair{CL_INVALID_COMMAND_QUEUE, "CL_INVALID_COMMAND_QUEUE"},
    std::pair{CL_INVALID_HOST_PTR, "CL_INVALID_HOST_PTR"},
    std::pair{CL_INVALID_MEM_OBJECT, "CL_INVALID_MEM_OBJECT"},
    std::pair{CL_INVALID_BINARY, "CL_INVALID_BINARY"},
    std::pair{CL_INVALID_BUILD_OPTIONS, "CL_INVALID_BUILD_OPTIONS"},
    std::pair{CL_INVALID_KERNEL_NAME, "CL_INVALID_KERNEL_NAME"},
    std::pair{CL_INVALID_KERNEL_ARGS, "CL_INVALID_KERNEL_ARGS"},
    std::pair{CL_INVALID_ARG_INDEX, "CL_INVALID_ARG_INDEX"},
    std::pair{CL_INVALID_ARG_SIZE, "CL_INVALID_ARG_SIZE"},
    std::pair{CL_INVALID_WORK_GROUP_SIZE, "CL_INVALID_WORK_GROUP_SIZE"},
    std::pair{CL_INVALID_GLOBAL_WORK_SIZE, "CL_INVALID_GLOBAL_WORK_SIZE"},
    std::pair{CL_INVALID_EVENT, "CL_INVALID_EVENT"},
    std::pair{CL_INVALID_OPERATION, "CL_INVALID_OPERATION"},
    std::pair{CL_INVALID_BUFFER_SIZE, "CL_INVALID_BUFFER_SIZE"},
    std::pair{CL_INVALID_DEVICE_PARTITION_COUNT, "CL_INVALID_DEVICE_PARTITION_COUNT"},
    std::pair{-1001, "CL_PLATFORM_NOT_FOUND_KHR"},
};

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
