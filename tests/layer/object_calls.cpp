// Calls that find devices and make objects on them.
#include <algorithm>
#include <memory>
#include <tuple>
#include <type_traits>
#include <vector>

#include "tests/layer/calls.hpp"

namespace fault {
namespace {

cl_int CL_API_CALL get_platform_ids(cl_uint entries, cl_platform_id* platforms, cl_uint* count) {
  const Fault fault = consider("clGetPlatformIDs", {});
  if (fault.action == Action::error) return code_of(fault);
  stall(fault);
  return cl->clGetPlatformIDs(entries, platforms, count);
}

// Names all devices of a platform by their positions among those that really exist.
void learn(cl_platform_id platform) {
  cl_uint count = 0;
  if (cl->clGetPlatformIDs(0, nullptr, &count) != CL_SUCCESS) return;
  std::vector<cl_platform_id> platforms(count);
  cl->clGetPlatformIDs(count, platforms.data(), nullptr);
  std::size_t p = 0;
  while (p < platforms.size() && platforms[p] != platform) ++p;
  if (cl->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count) != CL_SUCCESS) return;
  std::vector<cl_device_id> devices(count);
  cl->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, devices.data(), nullptr);
  for (std::size_t d = 0; d < devices.size(); ++d) {
    if (objects.devices.has(devices[d])) continue;
    auto device = std::make_shared<DeviceState>();
    device->id = std::to_string(p) + ":" + std::to_string(d);
    objects.devices.put(devices[d], {device, nullptr});
  }
}

cl_int CL_API_CALL get_device_ids(cl_platform_id platform, cl_device_type type, cl_uint entries,
                                  cl_device_id* devices, cl_uint* count) {
  cl_uint all = 0;
  const cl_int status = cl->clGetDeviceIDs(platform, type, 0, nullptr, &all);
  if (status != CL_SUCCESS) return status;
  learn(platform);
  std::vector<cl_device_id> there(all), listed;
  cl->clGetDeviceIDs(platform, type, all, there.data(), nullptr);
  for (cl_device_id device : there) {
    const Place place = place_of(objects, device);
    const Fault fault = place.lost() == CL_SUCCESS ? consider("clGetDeviceIDs", place)
                                                   : Fault();  // a dead one is still listed
    if (fault.action == Action::error) return code_of(fault);
    stall(fault);
    if (fault.action != Action::vanish) listed.push_back(device);
  }
  if (count != nullptr) *count = static_cast<cl_uint>(listed.size());
  for (std::size_t i = 0; devices != nullptr && i < std::min<std::size_t>(entries, listed.size());
       ++i)
    devices[i] = listed[i];
  return listed.empty() ? CL_DEVICE_NOT_FOUND : CL_SUCCESS;
}

cl_int CL_API_CALL create_sub_devices(cl_device_id parent,
                                      const cl_device_partition_property* properties,
                                      cl_uint entries, cl_device_id* devices, cl_uint* count) {
  const Place place = place_of(objects, parent);
  const Fault fault = consider("clCreateSubDevices", place);
  if (fault.action == Action::error) return code_of(fault);
  stall(fault);
  cl_uint made = 0;
  const cl_int status = cl->clCreateSubDevices(parent, properties, entries, devices, &made);
  if (count != nullptr) *count = made;
  if (status != CL_SUCCESS || devices == nullptr) return status;
  for (cl_uint k = 0; k < std::min(made, entries); ++k) {
    auto device = std::make_shared<DeviceState>();
    device->id = place.id() + "." + std::to_string(k);
    objects.devices.put(devices[k], {device, nullptr});
  }
  return status;
}

cl_context CL_API_CALL create_context(const cl_context_properties* properties, cl_uint count,
                                      const cl_device_id* devices,
                                      void(CL_CALLBACK* notify)(const char*, const void*, size_t,
                                                                void*),
                                      void* data, cl_int* status) {
  const Place place = count > 0 && devices != nullptr ? place_of(objects, devices[0]) : Place();
  return create(
      "clCreateContext", place, {}, 0, status,
      [&](cl_int* told) {
        return cl->clCreateContext(properties, count, devices, notify, data, told);
      },
      [&](cl_context made) {
        auto context = std::make_shared<ContextState>();
        context->handle = made;
        context->device = devices[0];
        objects.contexts.put(made, {place.device, context});
      });
}

// Returns the place of the queue's device, which need not be the first of a context of several.
Place on_device(cl_context context, cl_device_id device) {
  Place place = place_of(objects, context);
  if (const Place own = place_of(objects, device); own.device) place.device = own.device;
  return place;
}

// Wraps a call that makes an object on one device of a context.
template <Name name, auto member>
struct OnDevice;
template <Name name, class Properties,
          cl_command_queue (CL_API_CALL* cl_icd_dispatch::*member)(cl_context, cl_device_id,
                                                                   Properties, cl_int*)>
struct OnDevice<name, member> {
  static cl_command_queue CL_API_CALL call(cl_context context, cl_device_id device,
                                           Properties properties, cl_int* status) {
    const Place place = on_device(context, device);
    return create(
        name.text, place, {}, 0, status,
        [&](cl_int* told) { return (cl->*member)(context, device, properties, told); },
        [&](cl_command_queue made) { objects.queues.put(made, place); });
  }
};

void keep(cl_mem made, const Place& place, std::size_t size) {
  objects.memory.put(made, {place, size});
}
void keep(cl_program made, const Place& place, std::size_t) { objects.programs.put(made, place); }
void keep(cl_event made, const Place& place, std::size_t) {
  objects.events.put(made, {place, CL_SUCCESS, {}, nullptr, false});
}

// Wraps a call that makes an object in a context. Its last argument receives the status; its last
// argument of type size_t, if any, is a number of bytes (flags have that type too, and come before
// it).
template <Name name, auto member>
struct InContext;
template <Name name, class Made, class... Rest,
          Made (CL_API_CALL* cl_icd_dispatch::*member)(cl_context, Rest...)>
struct InContext<name, member> {
  static Made CL_API_CALL call(cl_context context, Rest... rest) {
    const Place place = place_of(objects, context);
    std::tuple<Rest...> all(rest...);
    constexpr std::size_t last = sizeof...(Rest) - 1;
    std::size_t bytes = 0;
    const auto count = [&](auto value) {
      if constexpr (std::is_same_v<decltype(value), size_t>) bytes = value;
    };
    (count(rest), ...);
    return create(
        name.text, place, {}, bytes, std::get<last>(all),
        [&](cl_int* told) {
          std::get<last>(all) = told;
          return std::apply([&](auto... each) { return (cl->*member)(context, each...); }, all);
        },
        [&](Made made) { keep(made, place, bytes); });
  }
};

cl_kernel CL_API_CALL create_kernel(cl_program program, const char* name, cl_int* status) {
  const Place place = place_of(objects, program);
  return create(
      "clCreateKernel", place, name, 0, status,
      [&](cl_int* told) { return cl->clCreateKernel(program, name, told); },
      [&](cl_kernel made) {
        objects.kernels.put(made, {place, name, {}});
      });
}

cl_int CL_API_CALL set_kernel_arg(cl_kernel kernel, cl_uint index, size_t size, const void* value) {
  cl_mem buffer = nullptr;
  if (size == sizeof buffer && value != nullptr) buffer = *static_cast<const cl_mem*>(value);
  const bool is_buffer =
      buffer != nullptr && objects.memory.has(buffer);  // or a number of eight bytes
  objects.kernels.change(kernel, [&](KernelState& state) {
    state.buffers.erase(index);
    if (is_buffer) state.buffers[index] = buffer;
  });
  return Plain<"clSetKernelArg", &cl_icd_dispatch::clSetKernelArg>::call(kernel, index, size,
                                                                         value);
}

}  // namespace

void wrap_object_calls(cl_icd_dispatch& table) {
#define PLAIN(name) table.name = Plain<#name, &cl_icd_dispatch::name>::call
  PLAIN(clGetDeviceInfo);
  PLAIN(clBuildProgram);
  PLAIN(clGetProgramInfo);
  PLAIN(clGetProgramBuildInfo);
  PLAIN(clGetKernelInfo);
  PLAIN(clGetKernelWorkGroupInfo);
#undef PLAIN
#define RELEASE(name) table.name = Release<#name, &cl_icd_dispatch::name>::call
  RELEASE(clReleaseContext);
  RELEASE(clReleaseCommandQueue);
  RELEASE(clReleaseMemObject);
  RELEASE(clReleaseProgram);
  RELEASE(clReleaseKernel);
  RELEASE(clReleaseEvent);
#undef RELEASE
#define ON_DEVICE(name) table.name = OnDevice<#name, &cl_icd_dispatch::name>::call
  ON_DEVICE(clCreateCommandQueue);
  ON_DEVICE(clCreateCommandQueueWithProperties);
#undef ON_DEVICE
#define IN_CONTEXT(name) table.name = InContext<#name, &cl_icd_dispatch::name>::call
  IN_CONTEXT(clCreateBuffer);
  IN_CONTEXT(clCreateBufferWithProperties);
  IN_CONTEXT(clCreateProgramWithSource);
  IN_CONTEXT(clCreateProgramWithBinary);
  IN_CONTEXT(clCreateUserEvent);
#undef IN_CONTEXT
  table.clGetPlatformIDs = get_platform_ids;
  table.clGetDeviceIDs = get_device_ids;
  table.clCreateSubDevices = create_sub_devices;
  table.clCreateContext = create_context;
  table.clCreateKernel = create_kernel;
  table.clSetKernelArg = set_kernel_arg;
}

}  // namespace fault
