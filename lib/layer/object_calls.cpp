// Calls that find devices, and make and release objects on them.
#include <algorithm>
#include <cstring>
#include <vector>

#include "lib/layer/calls.hpp"

namespace mgpu::layer {
namespace {

cl_int CL_API_CALL get_device_ids(cl_platform_id platform, cl_device_type type, cl_uint entries,
                                  cl_device_id* devices, cl_uint* count) {
  using Real = Timed<"clGetDeviceIDs", false, &cl_icd_dispatch::clGetDeviceIDs>;
  cl_uint own = 0;
  cl_uint& told = count != nullptr ? *count : own;
  const cl_int status = Real::call(platform, type, entries, devices, &told);
  if (status == CL_SUCCESS && devices != nullptr)
    for (cl_uint d = 0; d < std::min(entries, told); ++d) known_device(devices[d]);
  return status;
}

cl_int CL_API_CALL create_sub_devices(cl_device_id parent,
                                      const cl_device_partition_property* properties,
                                      cl_uint entries, cl_device_id* devices, cl_uint* count) {
  using Real = Timed<"clCreateSubDevices", false, &cl_icd_dispatch::clCreateSubDevices>;
  cl_uint own = 0;
  cl_uint& told = count != nullptr ? *count : own;
  const cl_int status = Real::call(parent, properties, entries, devices, &told);
  if (status == CL_SUCCESS && devices != nullptr)
    for (cl_uint d = 0; d < std::min(entries, told); ++d) add_device(devices[d]);
  return status;
}

void made_context(cl_context context, std::span<const cl_device_id> devices = {}) {
  add_context(context, devices);
  // Drivers may add handlers to the exit when the first contexts are made: the layer's run first.
  static std::atomic<int> times{8};
  if (times.fetch_sub(1) > 0) stop_at_exit();
}

// Makes a queue by `make(properties)` with profiling; without, if the driver refuses.
template <class Properties, class Make>
cl_command_queue make_queue(cl_command_queue_properties asked, const cl_queue_properties* list,
                            Properties as_asked, Properties with_profiling, const Make& make) {
  const bool changes = recording().times && (asked & CL_QUEUE_ON_DEVICE) == 0;
  cl_command_queue made = changes ? make(with_profiling) : nullptr;
  const bool times = made != nullptr;
  if (made == nullptr) made = make(as_asked);
  if (made != nullptr) add_queue(made, times, asked, list);
  return made;
}

cl_command_queue CL_API_CALL create_queue(cl_context context, cl_device_id device,
                                          cl_command_queue_properties properties, cl_int* status) {
  return make_queue(
      properties, nullptr, properties, properties | CL_QUEUE_PROFILING_ENABLE,
      [&](cl_command_queue_properties all) {
        return Timed<"clCreateCommandQueue", false, &cl_icd_dispatch::clCreateCommandQueue>::call(
            context, device, all, status);
      });
}

cl_command_queue CL_API_CALL create_queue_with_properties(cl_context context, cl_device_id device,
                                                          const cl_queue_properties* properties,
                                                          cl_int* status) {
  std::vector<cl_queue_properties> list;
  cl_command_queue_properties asked = 0;
  for (const auto* p = properties; p != nullptr && *p != 0; p += 2) {
    if (p[0] == CL_QUEUE_PROPERTIES)
      asked = p[1];
    else
      list.insert(list.end(), {p[0], p[1]});
  }
  list.insert(list.end(), {CL_QUEUE_PROPERTIES, asked | CL_QUEUE_PROFILING_ENABLE, 0});
  return make_queue(
      asked, properties, properties, static_cast<const cl_queue_properties*>(list.data()),
      [&](const cl_queue_properties* all) {
        return Timed<"clCreateCommandQueueWithProperties", false,
                     &cl_icd_dispatch::clCreateCommandQueueWithProperties>::call(context, device,
                                                                                 all, status);
      });
}

cl_int CL_API_CALL set_queue_property(cl_command_queue queue,
                                      cl_command_queue_properties properties, cl_bool enable,
                                      cl_command_queue_properties* old) {
  auto* object = recording().handles.find<QueueObject>(queue, Kind::queue);
  if (object == nullptr || !object->times)
    return next->clSetCommandQueueProperty(queue, properties, enable, old);
  // Profiling stays on.
  const cl_int status = next->clSetCommandQueueProperty(
      queue,
      enable ? properties : properties & ~cl_command_queue_properties{CL_QUEUE_PROFILING_ENABLE},
      enable, old);
  if (status != CL_SUCCESS) return status;
  if (old != nullptr) *old = object->asked;
  object->asked = enable ? object->asked | properties : object->asked & ~properties;
  return status;
}

cl_program CL_API_CALL create_program(cl_context context, cl_uint count, const char** strings,
                                      const std::size_t* lengths, cl_int* status) {
  using Real =
      Timed<"clCreateProgramWithSource", false, &cl_icd_dispatch::clCreateProgramWithSource>;
  const cl_program made = Real::call(context, count, strings, lengths, status);
  if (made == nullptr) return made;
  std::uint64_t bytes = 0;
  for (cl_uint s = 0; s < count; ++s)
    bytes += lengths != nullptr && lengths[s] != 0 ? lengths[s] : std::strlen(strings[s]);
  add_program(made, bytes);
  return made;
}

cl_int CL_API_CALL create_kernels(cl_program program, cl_uint entries, cl_kernel* kernels,
                                  cl_uint* count) {
  using Real = Timed<"clCreateKernelsInProgram", false, &cl_icd_dispatch::clCreateKernelsInProgram>;
  cl_uint own = 0;
  cl_uint& told = count != nullptr ? *count : own;
  const cl_int status = Real::call(program, entries, kernels, &told);
  if (status == CL_SUCCESS && kernels != nullptr)
    for (cl_uint k = 0; k < std::min(entries, told); ++k) add_kernel(kernels[k]);
  return status;
}

cl_kernel CL_API_CALL clone_kernel(cl_kernel from, cl_int* status) {
  using Real = Timed<"clCloneKernel", false, &cl_icd_dispatch::clCloneKernel>;
  const cl_kernel made = Real::call(from, status);
  if (made == nullptr) return made;
  KernelObject& copy = *add_kernel(made);
  const KernelObject& source = known_kernel(from);
  for (std::size_t a = 0; a < copy.memory.size(); ++a) copy.memory[a] = source.memory[a].load();
  copy.end = source.end.load();
  return made;
}

void set_argument(cl_kernel kernel, cl_uint index, const MemoryObject* memory) {
  constexpr auto relaxed = std::memory_order_relaxed;
  KernelObject& object = known_kernel(kernel);
  if (index < KernelObject::kArguments) {
    const std::uint64_t packed =
        memory != nullptr ? memory->id | std::uint64_t{memory->access} << 32 : 0;
    object.memory[index].store(packed, relaxed);
  } else if (memory == nullptr) {
    return;  // only memory past the end matters
  }
  if (index >= object.end.load(relaxed)) object.end.store(index + 1, relaxed);
}

cl_int CL_API_CALL set_kernel_arg(cl_kernel kernel, cl_uint index, std::size_t size,
                                  const void* value) {
  using Real = Timed<"clSetKernelArg", false, &cl_icd_dispatch::clSetKernelArg>;
  const cl_int status = Real::call(kernel, index, size, value);
  if (status != CL_SUCCESS) return status;
  cl_mem memory = nullptr;  // or a number of eight bytes: it is no handle of a memory object
  if (size == sizeof memory && value != nullptr) std::memcpy(&memory, value, sizeof memory);
  set_argument(kernel, index, recording().handles.find<MemoryObject>(memory, Kind::memory));
  return status;
}

cl_int CL_API_CALL set_kernel_arg_svm(cl_kernel kernel, cl_uint index, const void* pointer) {
  using Real = Timed<"clSetKernelArgSVMPointer", false, &cl_icd_dispatch::clSetKernelArgSVMPointer>;
  const cl_int status = Real::call(kernel, index, pointer);
  if (status == CL_SUCCESS)
    set_argument(kernel, index, recording().handles.find<MemoryObject>(pointer, Kind::memory));
  return status;
}

void CL_API_CALL svm_free(cl_context context, void* pointer) {
  Object* object = pointer != nullptr ? recording().handles.find(pointer) : nullptr;
  if (object != nullptr) forget(pointer, *object);
  Timed<"clSVMFree", false, &cl_icd_dispatch::clSVMFree>::call(context, pointer);
}

cl_int CL_API_CALL set_memory_callback(cl_mem memory, void(CL_CALLBACK* notify)(cl_mem, void*),
                                       void* data) {
  const cl_int status = next->clSetMemObjectDestructorCallback(memory, notify, data);
  if (status == CL_SUCCESS) known_memory(memory).tells_destruction = true;
  return status;
}

void record_extension(const char* name) {
  command_log::Extension extension{};
  const std::string_view text(name);
  extension.bytes = static_cast<std::uint32_t>(text.size());
  recording().push(Kind::extension, extension, {bytes_of(text)});
}
void* CL_API_CALL get_extension(const char* name) {
  void* const found = next->clGetExtensionFunctionAddress(name);
  if (found != nullptr) record_extension(name);
  return found;
}
void* CL_API_CALL get_platform_extension(cl_platform_id platform, const char* name) {
  void* const found = next->clGetExtensionFunctionAddressForPlatform(platform, name);
  if (found != nullptr) record_extension(name);
  return found;
}

}  // namespace

void wrap_object_calls(cl_icd_dispatch& table) {
#define REPLACE(entry, by) table.entry = by
#define TIMED(entry) REPLACE(entry, (Timed<#entry, false, &cl_icd_dispatch::entry>::call))
#define BUILD(entry) REPLACE(entry, (Timed<#entry, true, &cl_icd_dispatch::entry>::call))
#define CREATE(entry, ...) \
  REPLACE(entry, (Create<#entry, &cl_icd_dispatch::entry, [] __VA_ARGS__>::call))
#define RETAIN(entry) REPLACE(entry, (Retain<#entry, &cl_icd_dispatch::entry>::call))
#define RELEASE(entry) REPLACE(entry, (Release<#entry, &cl_icd_dispatch::entry>::call))
  REPLACE(clGetDeviceIDs, get_device_ids);
  REPLACE(clCreateSubDevices, create_sub_devices);
  TIMED(clGetPlatformIDs);
  TIMED(clGetPlatformInfo);
  TIMED(clGetDeviceInfo);

  CREATE(
      clCreateContext, (cl_context made, const cl_context_properties*, cl_uint count,
                        const cl_device_id* devices, auto...) {
        made_context(made, {devices, count});
      });
  CREATE(
      clCreateContextFromType, (cl_context made, auto...) { made_context(made); });
  REPLACE(clCreateCommandQueue, create_queue);
  REPLACE(clCreateCommandQueueWithProperties, create_queue_with_properties);
  REPLACE(clSetCommandQueueProperty, set_queue_property);

#define MEMORY(entry) \
  CREATE(             \
      entry, (cl_mem made, auto...) { add_memory(made); })
  MEMORY(clCreateBuffer);
  MEMORY(clCreateBufferWithProperties);
  MEMORY(clCreateSubBuffer);
  MEMORY(clCreateImage);
  MEMORY(clCreateImageWithProperties);
  MEMORY(clCreateImage2D);
  MEMORY(clCreateImage3D);
  MEMORY(clCreatePipe);
  MEMORY(clCreateFromGLBuffer);
  MEMORY(clCreateFromGLTexture);
  MEMORY(clCreateFromGLTexture2D);
  MEMORY(clCreateFromGLTexture3D);
  MEMORY(clCreateFromGLRenderbuffer);
#undef MEMORY
  CREATE(
      clSVMAlloc, (void* made, cl_context context, cl_svm_mem_flags flags, std::size_t bytes,
                   auto...) { add_svm(context, made, bytes, flags); });
  REPLACE(clSVMFree, svm_free);
  REPLACE(clSetMemObjectDestructorCallback, set_memory_callback);

  REPLACE(clCreateProgramWithSource, create_program);
#define PROGRAM(entry) \
  CREATE(              \
      entry, (cl_program made, auto...) { add_program(made, 0); })
  PROGRAM(clCreateProgramWithBinary);
  PROGRAM(clCreateProgramWithBuiltInKernels);
  PROGRAM(clCreateProgramWithIL);
#undef PROGRAM
  BUILD(clBuildProgram);
  BUILD(clCompileProgram);
  CREATE(
      clCreateKernel, (cl_kernel made, auto...) { add_kernel(made); });
  REPLACE(clCreateKernelsInProgram, create_kernels);
  REPLACE(clCloneKernel, clone_kernel);
  REPLACE(clSetKernelArg, set_kernel_arg);
  REPLACE(clSetKernelArgSVMPointer, set_kernel_arg_svm);

  RETAIN(clRetainContext);
  RETAIN(clRetainCommandQueue);
  RETAIN(clRetainMemObject);
  RETAIN(clRetainProgram);
  RETAIN(clRetainKernel);
  RELEASE(clReleaseContext);
  RELEASE(clReleaseCommandQueue);
  RELEASE(clReleaseMemObject);
  RELEASE(clReleaseProgram);
  RELEASE(clReleaseKernel);
  REPLACE(clGetExtensionFunctionAddress, get_extension);
  REPLACE(clGetExtensionFunctionAddressForPlatform, get_platform_extension);
#undef TIMED
#undef BUILD
#undef CREATE
#undef RETAIN
#undef RELEASE
#undef REPLACE
}

}  // namespace mgpu::layer
