// Calls that find devices and make objects on them.
#include <algorithm>
#include <cstring>
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

}  // namespace

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
    device->platform = platform;
    objects.devices.put(devices[d], {device, nullptr});
  }
}

namespace {

// Returns the type that the device reports, with the bit of a default device if it is that one.
cl_device_type type_of(cl_device_id device) {
  cl_device_type type = 0;
  cl->clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof type, &type, nullptr);
  const auto lie = lie_of(place_of(objects, device));
  if (!lie) return type;
  const cl_device_type is_default = type & CL_DEVICE_TYPE_DEFAULT;
  return lie->get(CL_DEVICE_TYPE, type) | is_default;
}

cl_int CL_API_CALL get_device_ids(cl_platform_id platform, cl_device_type type, cl_uint entries,
                                  cl_device_id* devices, cl_uint* count) {
  platform = real_platform(platform);
  learn(platform);
  const bool pretend = script.has_lies();  // of other types
  const cl_device_type asked = pretend ? CL_DEVICE_TYPE_ALL : type;
  cl_uint all = 0;
  const cl_int status = cl->clGetDeviceIDs(platform, asked, 0, nullptr, &all);
  if (status != CL_SUCCESS) return status;
  std::vector<cl_device_id> there(all), listed;
  cl->clGetDeviceIDs(platform, asked, all, there.data(), nullptr);
  for (cl_device_id device : there) {
    if (pretend && (type_of(device) & type) == 0) continue;
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

// Returns whether the device can be split in this way; true if its file does not say.
bool splits(const Lie& lie, cl_device_partition_property kind) {
  const auto kinds = lie.device.find(CL_DEVICE_PARTITION_PROPERTIES);
  if (kinds == lie.device.end()) return true;
  for (std::size_t at = 0; at < kinds->second.size(); at += sizeof kind) {
    if (std::memcmp(kinds->second.data() + at, &kind, sizeof kind) == 0) return true;
  }
  return false;
}

cl_int CL_API_CALL create_sub_devices(cl_device_id parent,
                                      const cl_device_partition_property* properties,
                                      cl_uint entries, cl_device_id* devices, cl_uint* count) {
  const Place place = place_of(objects, parent);
  const Fault fault = consider("clCreateSubDevices", place);
  if (fault.action == Action::error) return code_of(fault);
  stall(fault);
  if (const auto lie = lie_of(place); lie && properties != nullptr && !splits(*lie, properties[0]))
    return CL_INVALID_VALUE;
  cl_uint made = 0;
  const cl_int status = cl->clCreateSubDevices(parent, properties, entries, devices, &made);
  if (count != nullptr) *count = made;
  if (status != CL_SUCCESS || devices == nullptr) return status;
  for (cl_uint k = 0; k < std::min(made, entries); ++k) {
    auto device = std::make_shared<DeviceState>();
    device->id = place.id() + "." + std::to_string(k);
    if (place.device) device->platform = place.device->platform;
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
  std::vector<cl_context_properties> real;
  for (const cl_context_properties* p = properties; p != nullptr && *p != 0; p += 2) {
    const auto platform = reinterpret_cast<cl_platform_id>(p[1]);
    real.insert(real.end(),
                {p[0], p[0] == CL_CONTEXT_PLATFORM
                           ? reinterpret_cast<cl_context_properties>(real_platform(platform))
                           : p[1]});
  }
  real.push_back(0);
  return create(
      "clCreateContext", place, {}, 0, status,
      [&](cl_int* told) {
        return cl->clCreateContext(properties != nullptr ? real.data() : nullptr, count, devices,
                                   notify, data, told);
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

cl_command_queue_properties bits_of(cl_command_queue_properties properties) { return properties; }
cl_command_queue_properties bits_of(const cl_queue_properties* properties) {
  for (; properties != nullptr && *properties != 0; properties += 2)
    if (*properties == CL_QUEUE_PROPERTIES) return properties[1];
  return 0;
}

// Wraps a call that makes an object on one device of a context.
template <CallName name, auto member>
struct OnDevice;
template <CallName name, class Properties,
          cl_command_queue (CL_API_CALL* cl_icd_dispatch::*member)(cl_context, cl_device_id,
                                                                   Properties, cl_int*)>
struct OnDevice<name, member> {
  static cl_command_queue CL_API_CALL call(cl_context context, cl_device_id device,
                                           Properties properties, cl_int* status) {
    const Place place = on_device(context, device);
    return create(
        name.text, place, {}, 0, status,
        [&](cl_int* told) -> cl_command_queue {
          const auto lie = lie_of(place);
          const auto wanted = bits_of(properties);
          if (lie && (lie->get(CL_DEVICE_QUEUE_PROPERTIES, wanted) & wanted) != wanted) {
            *told = CL_INVALID_QUEUE_PROPERTIES;
            return nullptr;
          }
          return (cl->*member)(context, device, properties, told);
        },
        [&](cl_command_queue made) { objects.queues.put(made, place); });
  }
};

// Counts a buffer as memory of a device that pretends, until it is destroyed.
void count(cl_mem made, const Place& place, std::size_t size) {
  cl_mem_flags flags = 0;
  cl->clGetMemObjectInfo(made, CL_MEM_FLAGS, sizeof flags, &flags, nullptr);
  if (flags & (CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR)) return;
  using Counted = std::pair<std::shared_ptr<DeviceState>, std::size_t>;
  auto counted = std::make_unique<Counted>(place.device, size);
  const auto forget = [](cl_mem, void* given) {
    const std::unique_ptr<Counted> gone(static_cast<Counted*>(given));
    gone->first->allocated -= gone->second;
  };
  place.device->allocated += size;
  if (cl->clSetMemObjectDestructorCallback(made, forget, counted.get()) == CL_SUCCESS)
    static_cast<void>(counted.release());
}

void keep(cl_mem made, const Place& place, std::size_t size) {
  objects.memory.put(made, {place, size});
  if (lie_of(place)) count(made, place, size);
}
void keep(cl_program made, const Place& place, std::size_t) { objects.programs.put(made, place); }
void keep(cl_event made, const Place& place, std::size_t) {
  objects.events.put(made, {place, CL_SUCCESS, {}, nullptr, false});
}

// Wraps a call that makes an object in a context. Its last argument receives the status; its last
// argument of type size_t, if any, is a number of bytes (flags have that type too, and come before
// it).
template <CallName name, auto member>
struct InContext;
template <CallName name, class Made, class... Rest,
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

cl_program CL_API_CALL create_program(cl_context context, cl_uint count, const char** strings,
                                      const size_t* lengths, cl_int* status) {
  using Real = InContext<"clCreateProgramWithSource", &cl_icd_dispatch::clCreateProgramWithSource>;
  const auto lie = lie_of(place_of(objects, context));
  const std::string prelude = lie ? lie->prelude() : std::string();
  if (prelude.empty() || strings == nullptr)
    return Real::call(context, count, strings, lengths, status);
  std::vector<const char*> texts(strings, strings + count);
  std::vector<size_t> sizes(count, 0);  // 0: ends with a zero
  if (lengths != nullptr) sizes.assign(lengths, lengths + count);
  texts.insert(texts.begin(), prelude.c_str());
  sizes.insert(sizes.begin(), prelude.size());
  return Real::call(context, count + 1, texts.data(), sizes.data(), status);
}

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
  IN_CONTEXT(clCreateProgramWithBinary);
  IN_CONTEXT(clCreateUserEvent);
#undef IN_CONTEXT
  table.clGetPlatformIDs = get_platform_ids;
  table.clGetDeviceIDs = get_device_ids;
  table.clCreateSubDevices = create_sub_devices;
  table.clCreateContext = create_context;
  table.clCreateProgramWithSource = create_program;
  table.clCreateKernel = create_kernel;
  table.clSetKernelArg = set_kernel_arg;
}

}  // namespace fault
