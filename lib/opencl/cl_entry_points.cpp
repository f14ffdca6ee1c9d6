// Defines the OpenCL functions that this program calls: each forwards to the ICD loader's, which is
// looked for when the first is called. So a program without a loader starts, and an older loader
// needs only the functions that are used.
#include "lib/opencl/cl_entry_points.hpp"

#include <tuple>
#include <type_traits>

#include "lib/opencl/cl_common.hpp"
#include "lib/opencl/library.hpp"

namespace mgpu {
namespace {

// Libraries of that interface: the ICD loader; a device's own driver where there is no loader, as
// on some ARM boards; macOS.
constexpr const char* kLoaders[] = {"libOpenCL.so.1", "libOpenCL.so",
                                    "/System/Library/Frameworks/OpenCL.framework/OpenCL"};

struct LoadedOpenCl {
  Library library;
  std::string why_not;
};

const LoadedOpenCl& loaded_opencl() {
  // Never closed: threads of drivers run until the process ends.
  static const LoadedOpenCl& only = *[] {
    auto* made = new LoadedOpenCl;
    for (const char* name : kLoaders) {
      if (made->library.load(name)) {
        made->why_not.clear();
        break;
      }
      if (made->why_not.empty()) made->why_not = ::dlerror();
    }
    return made;
  }();
  return only;
}

// Stands for a function that the loader lacks. Those that make an object take the address for the
// status last.
template <class Result, class... Parameters>
Result CL_API_CALL lacking(Parameters... all) {
  constexpr cl_int no_platform = -1001;  // CL_PLATFORM_NOT_FOUND_KHR
  const cl_int status = loaded_opencl().why_not.empty() ? CL_INVALID_OPERATION : no_platform;
  if constexpr (std::is_pointer_v<Result>) {
    if (cl_int* told = std::get<sizeof...(Parameters) - 1>(std::tie(all...))) *told = status;
    return nullptr;
  } else {
    return status;
  }
}

template <class Result, class... Parameters>
auto entry_of(Result(CL_API_CALL*)(Parameters...), const char* name) {
  Result(CL_API_CALL * found)(Parameters...) = nullptr;
  const bool is_there =
      loaded_opencl().why_not.empty() && loaded_opencl().library.find(found, name);
  return is_there ? found : &lacking<Result, Parameters...>;
}

}  // namespace

std::string why_no_opencl_loader() { return loaded_opencl().why_not; }

}  // namespace mgpu

#define FORWARD(Result, name, parameters, ...)              \
  extern "C" Result CL_API_CALL name parameters {           \
    static const auto entry = mgpu::entry_of(&name, #name); \
    return entry(__VA_ARGS__);                              \
  }

FORWARD(cl_int, clBuildProgram,
        (cl_program a, cl_uint b, const cl_device_id* c, const char* d,
         void(CL_CALLBACK* e)(cl_program, void*), void* f),
        a, b, c, d, e, f)
FORWARD(cl_mem, clCreateBuffer, (cl_context a, cl_mem_flags b, size_t c, void* d, cl_int* e), a, b,
        c, d, e)
FORWARD(cl_mem, clCreateImage,
        (cl_context a, cl_mem_flags b, const cl_image_format* c, const cl_image_desc* d, void* e,
         cl_int* f),
        a, b, c, d, e, f)
FORWARD(cl_mem, clCreateBufferWithProperties,
        (cl_context a, const cl_mem_properties* b, cl_mem_flags c, size_t d, void* e, cl_int* f), a,
        b, c, d, e, f)
FORWARD(cl_command_queue, clCreateCommandQueue,
        (cl_context a, cl_device_id b, cl_command_queue_properties c, cl_int* d), a, b, c, d)
FORWARD(cl_command_queue, clCreateCommandQueueWithProperties,
        (cl_context a, cl_device_id b, const cl_queue_properties* c, cl_int* d), a, b, c, d)
FORWARD(cl_context, clCreateContext,
        (const cl_context_properties* a, cl_uint b, const cl_device_id* c,
         void(CL_CALLBACK* d)(const char*, const void*, size_t, void*), void* e, cl_int* f),
        a, b, c, d, e, f)
FORWARD(cl_kernel, clCreateKernel, (cl_program a, const char* b, cl_int* c), a, b, c)
FORWARD(cl_program, clCreateProgramWithBinary,
        (cl_context a, cl_uint b, const cl_device_id* c, const size_t* d, const unsigned char** e,
         cl_int* f, cl_int* g),
        a, b, c, d, e, f, g)
FORWARD(cl_program, clCreateProgramWithSource,
        (cl_context a, cl_uint b, const char** c, const size_t* d, cl_int* e), a, b, c, d, e)
FORWARD(cl_mem, clCreateSubBuffer,
        (cl_mem a, cl_mem_flags b, cl_buffer_create_type c, const void* d, cl_int* e), a, b, c, d,
        e)
FORWARD(cl_int, clCreateSubDevices,
        (cl_device_id a, const cl_device_partition_property* b, cl_uint c, cl_device_id* d,
         cl_uint* e),
        a, b, c, d, e)
FORWARD(cl_event, clCreateUserEvent, (cl_context a, cl_int* b), a, b)
FORWARD(cl_int, clEnqueueBarrierWithWaitList,
        (cl_command_queue a, cl_uint b, const cl_event* c, cl_event* d), a, b, c, d)
FORWARD(cl_int, clEnqueueCopyBuffer,
        (cl_command_queue a, cl_mem b, cl_mem c, size_t d, size_t e, size_t f, cl_uint g,
         const cl_event* h, cl_event* i),
        a, b, c, d, e, f, g, h, i)
FORWARD(cl_int, clEnqueueFillBuffer,
        (cl_command_queue a, cl_mem b, const void* c, size_t d, size_t e, size_t f, cl_uint g,
         const cl_event* h, cl_event* i),
        a, b, c, d, e, f, g, h, i)
FORWARD(void*, clEnqueueMapBuffer,
        (cl_command_queue a, cl_mem b, cl_bool c, cl_map_flags d, size_t e, size_t f, cl_uint g,
         const cl_event* h, cl_event* i, cl_int* j),
        a, b, c, d, e, f, g, h, i, j)
FORWARD(cl_int, clEnqueueMarkerWithWaitList,
        (cl_command_queue a, cl_uint b, const cl_event* c, cl_event* d), a, b, c, d)
FORWARD(cl_int, clEnqueueNDRangeKernel,
        (cl_command_queue a, cl_kernel b, cl_uint c, const size_t* d, const size_t* e,
         const size_t* f, cl_uint g, const cl_event* h, cl_event* i),
        a, b, c, d, e, f, g, h, i)
FORWARD(cl_int, clEnqueueReadBuffer,
        (cl_command_queue a, cl_mem b, cl_bool c, size_t d, size_t e, void* f, cl_uint g,
         const cl_event* h, cl_event* i),
        a, b, c, d, e, f, g, h, i)
FORWARD(cl_int, clEnqueueReadBufferRect,
        (cl_command_queue a, cl_mem b, cl_bool c, const size_t* d, const size_t* e, const size_t* f,
         size_t g, size_t h, size_t i, size_t j, void* k, cl_uint l, const cl_event* m,
         cl_event* n),
        a, b, c, d, e, f, g, h, i, j, k, l, m, n)
FORWARD(cl_int, clEnqueueUnmapMemObject,
        (cl_command_queue a, cl_mem b, void* c, cl_uint d, const cl_event* e, cl_event* f), a, b, c,
        d, e, f)
FORWARD(cl_int, clEnqueueWriteBuffer,
        (cl_command_queue a, cl_mem b, cl_bool c, size_t d, size_t e, const void* f, cl_uint g,
         const cl_event* h, cl_event* i),
        a, b, c, d, e, f, g, h, i)
FORWARD(cl_int, clEnqueueWriteImage,
        (cl_command_queue a, cl_mem b, cl_bool c, const size_t* d, const size_t* e, size_t f,
         size_t g, const void* h, cl_uint i, const cl_event* j, cl_event* k),
        a, b, c, d, e, f, g, h, i, j, k)
FORWARD(cl_int, clEnqueueWriteBufferRect,
        (cl_command_queue a, cl_mem b, cl_bool c, const size_t* d, const size_t* e, const size_t* f,
         size_t g, size_t h, size_t i, size_t j, const void* k, cl_uint l, const cl_event* m,
         cl_event* n),
        a, b, c, d, e, f, g, h, i, j, k, l, m, n)
FORWARD(cl_int, clFinish, (cl_command_queue a), a)
FORWARD(cl_int, clFlush, (cl_command_queue a), a)
FORWARD(cl_int, clGetContextInfo, (cl_context a, cl_context_info b, size_t c, void* d, size_t* e),
        a, b, c, d, e)
FORWARD(cl_int, clGetDeviceIDs,
        (cl_platform_id a, cl_device_type b, cl_uint c, cl_device_id* d, cl_uint* e), a, b, c, d, e)
FORWARD(cl_int, clGetDeviceInfo, (cl_device_id a, cl_device_info b, size_t c, void* d, size_t* e),
        a, b, c, d, e)
FORWARD(cl_int, clGetEventInfo, (cl_event a, cl_event_info b, size_t c, void* d, size_t* e), a, b,
        c, d, e)
FORWARD(cl_int, clGetEventProfilingInfo,
        (cl_event a, cl_profiling_info b, size_t c, void* d, size_t* e), a, b, c, d, e)
FORWARD(cl_int, clGetKernelArgInfo,
        (cl_kernel a, cl_uint b, cl_kernel_arg_info c, size_t d, void* e, size_t* f), a, b, c, d, e,
        f)
FORWARD(cl_int, clGetKernelInfo, (cl_kernel a, cl_kernel_info b, size_t c, void* d, size_t* e), a,
        b, c, d, e)
FORWARD(cl_int, clGetKernelWorkGroupInfo,
        (cl_kernel a, cl_device_id b, cl_kernel_work_group_info c, size_t d, void* e, size_t* f), a,
        b, c, d, e, f)
FORWARD(cl_int, clGetPlatformIDs, (cl_uint a, cl_platform_id* b, cl_uint* c), a, b, c)
FORWARD(cl_int, clGetPlatformInfo,
        (cl_platform_id a, cl_platform_info b, size_t c, void* d, size_t* e), a, b, c, d, e)
FORWARD(cl_int, clGetProgramBuildInfo,
        (cl_program a, cl_device_id b, cl_program_build_info c, size_t d, void* e, size_t* f), a, b,
        c, d, e, f)
FORWARD(cl_int, clGetProgramInfo, (cl_program a, cl_program_info b, size_t c, void* d, size_t* e),
        a, b, c, d, e)
FORWARD(cl_int, clReleaseCommandQueue, (cl_command_queue a), a)
FORWARD(cl_int, clReleaseContext, (cl_context a), a)
FORWARD(cl_int, clReleaseDevice, (cl_device_id a), a)
FORWARD(cl_int, clReleaseEvent, (cl_event a), a)
FORWARD(cl_int, clReleaseKernel, (cl_kernel a), a)
FORWARD(cl_int, clReleaseMemObject, (cl_mem a), a)
FORWARD(cl_int, clReleaseProgram, (cl_program a), a)
FORWARD(cl_int, clRetainCommandQueue, (cl_command_queue a), a)
FORWARD(cl_int, clRetainContext, (cl_context a), a)
FORWARD(cl_int, clRetainDevice, (cl_device_id a), a)
FORWARD(cl_int, clRetainEvent, (cl_event a), a)
FORWARD(cl_int, clRetainMemObject, (cl_mem a), a)
FORWARD(cl_int, clRetainProgram, (cl_program a), a)
FORWARD(cl_int, clSetEventCallback,
        (cl_event a, cl_int b, void(CL_CALLBACK* c)(cl_event, cl_int, void*), void* d), a, b, c, d)
FORWARD(cl_int, clSetKernelArg, (cl_kernel a, cl_uint b, size_t c, const void* d), a, b, c, d)
FORWARD(cl_int, clSetUserEventStatus, (cl_event a, cl_int b), a, b)
