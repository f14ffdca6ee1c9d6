#include "lib/layer/objects.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

namespace mgpu::layer {

using namespace command_log;

namespace {

// Reads a fixed-size fact of an object by one of OpenCL's queries; zero if there is none.
template <class Value, class Query, class Handle, class What>
Value fact(Query query, Handle handle, What what) {
  Value value{};
  query(handle, what, sizeof value, &value, nullptr);
  return value;
}

template <class Query, class Handle, class What>
std::string text(Query query, Handle handle, What what) {
  std::size_t size = 0;
  if (query(handle, what, 0, nullptr, &size) != CL_SUCCESS || size == 0) return {};
  std::string value(size, 0);
  if (query(handle, what, size, value.data(), nullptr) != CL_SUCCESS) return {};
  value.resize(std::min<std::size_t>(std::strlen(value.c_str()), 2000));
  return value;
}

template <class Handle, class Query, class From>
std::vector<Handle> listed(Query query, From from, cl_uint what) {
  std::size_t size = 0;
  query(from, what, 0, nullptr, &size);
  std::vector<Handle> all(size / sizeof(Handle));
  if (!all.empty()) query(from, what, size, all.data(), nullptr);
  return all;
}

// Position of a platform among all, and of a device in its platform, from 1 on; 0 if not listed.
std::uint32_t position(cl_platform_id platform) {
  cl_uint count = 0;
  next->clGetPlatformIDs(0, nullptr, &count);
  std::vector<cl_platform_id> all(count);
  if (count > 0) next->clGetPlatformIDs(count, all.data(), nullptr);
  const auto at = std::find(all.begin(), all.end(), platform);
  return at == all.end() ? 0 : static_cast<std::uint32_t>(at - all.begin()) + 1;
}
std::uint32_t position(cl_platform_id platform, cl_device_id device) {
  cl_uint count = 0;
  if (next->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count) != CL_SUCCESS)
    return 0;
  std::vector<cl_device_id> all(count);
  next->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, all.data(), nullptr);
  const auto at = std::find(all.begin(), all.end(), device);
  return at == all.end() ? 0 : static_cast<std::uint32_t>(at - all.begin()) + 1;
}

template <class Made, class... Arguments>
Made* put(const void* handle, Arguments&&... arguments) {
  auto object = std::make_unique<Made>(std::forward<Arguments>(arguments)...);
  Made* raw = object.get();
  recording().handles.put(handle, std::move(object));
  return raw;
}

std::uint32_t length(const std::string& value) { return static_cast<std::uint32_t>(value.size()); }

}  // namespace

std::uint32_t add_device(cl_device_id handle) {
  Recorder& own = recording();
  const auto get = next->clGetDeviceInfo;
  Device device{};
  const auto parent = fact<cl_device_id>(get, handle, CL_DEVICE_PARENT_DEVICE);
  if (parent != nullptr) device.parent = known_device(parent);
  device.id = put<Object>(handle, Kind::device, own.next_id())->id;
  const auto platform = fact<cl_platform_id>(get, handle, CL_DEVICE_PLATFORM);
  device.platform = position(platform);
  if (parent == nullptr) device.index = position(platform, handle);
  device.type = fact<cl_device_type>(get, handle, CL_DEVICE_TYPE);
  device.memory_bytes = fact<cl_ulong>(get, handle, CL_DEVICE_GLOBAL_MEM_SIZE);
  device.timer_resolution_ns = fact<std::size_t>(get, handle, CL_DEVICE_PROFILING_TIMER_RESOLUTION);
  device.vendor_id = fact<cl_uint>(get, handle, CL_DEVICE_VENDOR_ID);
  device.compute_units = fact<cl_uint>(get, handle, CL_DEVICE_MAX_COMPUTE_UNITS);
  device.clock_mhz = fact<cl_uint>(get, handle, CL_DEVICE_MAX_CLOCK_FREQUENCY);
  device.host_unified = fact<cl_bool>(get, handle, CL_DEVICE_HOST_UNIFIED_MEMORY);
  const std::string extensions = text(get, handle, CL_DEVICE_EXTENSIONS);
  const auto has = [&](const char* name) { return extensions.find(name) != std::string::npos; };
  if (has("cl_khr_device_uuid"))
    device.has_uuid =
        get(handle, CL_DEVICE_UUID_KHR, sizeof device.uuid, device.uuid, nullptr) == CL_SUCCESS;
  if (cl_device_pci_bus_info_khr pci{};
      has("cl_khr_pci_bus_info") &&
      get(handle, CL_DEVICE_PCI_BUS_INFO_KHR, sizeof pci, &pci, nullptr) == CL_SUCCESS) {
    device.has_pci = 1;
    device.pci_domain = pci.pci_domain;
    device.pci_bus = pci.pci_bus;
    device.pci_device = pci.pci_device;
    device.pci_function = pci.pci_function;
  }
  const std::string name = text(get, handle, CL_DEVICE_NAME),
                    vendor = text(get, handle, CL_DEVICE_VENDOR),
                    driver = text(get, handle, CL_DRIVER_VERSION),
                    version = text(get, handle, CL_DEVICE_VERSION),
                    platform_name = text(next->clGetPlatformInfo, platform, CL_PLATFORM_NAME),
                    platform_version = text(next->clGetPlatformInfo, platform, CL_PLATFORM_VERSION);
  device.name_bytes = length(name);
  device.vendor_bytes = length(vendor);
  device.driver_bytes = length(driver);
  device.version_bytes = length(version);
  device.platform_name_bytes = length(platform_name);
  device.platform_version_bytes = length(platform_version);
  // clGetDeviceAndHostTimer came with OpenCL 2.1: drivers of older versions may have no such entry.
  // The program may release parts of devices at any time.
  const bool has_timer = parent == nullptr && version >= "OpenCL 2.1";
  own.push(Kind::device, device,
           {bytes_of(name), bytes_of(vendor), bytes_of(driver), bytes_of(version),
            bytes_of(platform_name), bytes_of(platform_version)},
           has_timer ? handle : nullptr);
  return device.id;
}

std::uint32_t add_context(cl_context handle, std::span<const cl_device_id> given) {
  Recorder& own = recording();
  auto devices = std::vector<cl_device_id>(given.begin(), given.end());
  if (devices.empty())
    devices = listed<cl_device_id>(next->clGetContextInfo, handle, CL_CONTEXT_DEVICES);
  std::vector<std::uint32_t> ids;
  for (cl_device_id device : devices) ids.push_back(known_device(device));
  Context context{};
  context.id = put<Object>(handle, Kind::context, own.next_id())->id;
  context.device_count = static_cast<std::uint32_t>(ids.size());
  context.time_ns = now_ns();
  own.push(Kind::context, context, {bytes_of(ids.data(), ids.size())});
  return context.id;
}

QueueObject* add_queue(cl_command_queue handle, bool times, cl_command_queue_properties asked,
                       const cl_queue_properties* asked_list) {
  Recorder& own = recording();
  const auto get = next->clGetCommandQueueInfo;
  Queue queue{};
  queue.context = known_context(fact<cl_context>(get, handle, CL_QUEUE_CONTEXT));
  queue.device = known_device(fact<cl_device_id>(get, handle, CL_QUEUE_DEVICE));
  queue.used = fact<cl_command_queue_properties>(get, handle, CL_QUEUE_PROPERTIES);
  queue.asked = asked;
  queue.times = times;
  queue.time_ns = now_ns();
  auto object = std::make_unique<QueueObject>(Kind::queue, queue.id = own.next_id());
  QueueObject* const raw = object.get();
  object->times = times;
  object->in_order = (queue.used & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) == 0;
  object->asked = asked;
  for (; asked_list != nullptr; asked_list += 2) {
    object->asked_list.push_back(asked_list[0]);
    if (asked_list[0] == 0) break;
    object->asked_list.push_back(asked_list[1]);
  }
  own.handles.put(handle, std::move(object));
  own.push(Kind::queue, queue);
  return raw;
}

std::uint32_t add_program(cl_program handle, std::uint64_t source_bytes) {
  Recorder& own = recording();
  Program program{};
  program.context =
      known_context(fact<cl_context>(next->clGetProgramInfo, handle, CL_PROGRAM_CONTEXT));
  program.id = put<Object>(handle, Kind::program, own.next_id())->id;
  program.time_ns = now_ns();
  program.source_bytes = source_bytes;
  own.push(Kind::program, program);
  return program.id;
}

KernelObject* add_kernel(cl_kernel handle) {
  Recorder& own = recording();
  Kernel kernel{};
  kernel.program =
      known_program(fact<cl_program>(next->clGetKernelInfo, handle, CL_KERNEL_PROGRAM));
  const std::string name = text(next->clGetKernelInfo, handle, CL_KERNEL_FUNCTION_NAME);
  auto* object = put<KernelObject>(handle, Kind::kernel, kernel.id = own.next_id());
  kernel.time_ns = now_ns();
  kernel.name_bytes = length(name);
  own.push(Kind::kernel, kernel, {bytes_of(name)});
  return object;
}

MemoryObject* add_memory(cl_mem handle) {
  Recorder& own = recording();
  const auto get = next->clGetMemObjectInfo;
  Memory memory{};
  memory.context = known_context(fact<cl_context>(get, handle, CL_MEM_CONTEXT));
  const auto parent = fact<cl_mem>(get, handle, CL_MEM_ASSOCIATED_MEMOBJECT);
  if (parent != nullptr) memory.parent = known_memory(parent).id;
  const auto type = fact<cl_mem_object_type>(get, handle, CL_MEM_TYPE);
  memory.type = type == CL_MEM_OBJECT_BUFFER ? MemoryType::buffer
                : type == CL_MEM_OBJECT_PIPE ? MemoryType::pipe
                                             : MemoryType::image;
  memory.bytes = fact<std::size_t>(get, handle, CL_MEM_SIZE);
  memory.flags = fact<cl_mem_flags>(get, handle, CL_MEM_FLAGS);
  memory.offset = fact<std::size_t>(get, handle, CL_MEM_OFFSET);
  if (memory.flags & CL_MEM_USE_HOST_PTR)
    memory.host_pointer =
        reinterpret_cast<std::uintptr_t>(fact<void*>(get, handle, CL_MEM_HOST_PTR));
  auto* object = put<MemoryObject>(handle, Kind::memory, memory.id = own.next_id());
  object->bytes = memory.bytes;
  if (memory.flags & CL_MEM_READ_ONLY) object->access = 1;
  if (memory.flags & CL_MEM_WRITE_ONLY) object->access = 2;
  if (memory.type == MemoryType::image) {
    object->element_bytes = static_cast<std::uint32_t>(
        fact<std::size_t>(next->clGetImageInfo, handle, CL_IMAGE_ELEMENT_SIZE));
  }
  memory.time_ns = now_ns();
  own.push(Kind::memory, memory);
  return object;
}

void add_svm(cl_context context, void* pointer, std::size_t bytes, cl_svm_mem_flags flags) {
  Recorder& own = recording();
  Memory memory{};
  memory.context = known_context(context);
  memory.type = MemoryType::svm;
  memory.bytes = bytes;
  memory.flags = flags;
  memory.host_pointer = reinterpret_cast<std::uintptr_t>(pointer);
  auto* object = put<MemoryObject>(pointer, Kind::memory, memory.id = own.next_id());
  object->bytes = bytes;
  memory.time_ns = now_ns();
  own.push(Kind::memory, memory);
}

namespace {

template <class Handle>
std::uint32_t known(Handle handle, std::uint32_t (*add)(Handle)) {
  if (handle == nullptr) return 0;
  const std::uint32_t id = id_of(handle);
  return id != 0 ? id : add(handle);
}

}  // namespace

std::uint32_t known_device(cl_device_id device) { return known(device, add_device); }
std::uint32_t known_context(cl_context context) {
  return known<cl_context>(context, [](cl_context made) { return add_context(made); });
}
std::uint32_t known_program(cl_program program) {
  return known<cl_program>(program, [](cl_program made) { return add_program(made, 0); });
}
KernelObject& known_kernel(cl_kernel kernel) {
  auto* found = recording().handles.find<KernelObject>(kernel, Kind::kernel);
  return found != nullptr ? *found : *add_kernel(kernel);
}
MemoryObject& known_memory(cl_mem memory) {
  auto* found = recording().handles.find<MemoryObject>(memory, Kind::memory);
  return found != nullptr ? *found : *add_memory(memory);
}

void forget(const void* handle, Object& object) {
  Recorder& own = recording();
  const bool tells =
      object.kind == Kind::memory && static_cast<MemoryObject&>(object).tells_destruction;
  // Events that the layer still has keep these alive in some drivers: callbacks on their
  // destruction are to come as without the layer.
  if (tells || object.kind == Kind::context || object.kind == Kind::queue)
    own.after_collecting([](const auto&) {});
  Released released{};
  released.id = object.id;
  released.time_ns = now_ns();
  own.push(Kind::released, released);
  // A queue stays known: events that the program keeps may still be asked for their times.
  if (object.kind != Kind::queue) own.handles.erase(handle);
}

}  // namespace mgpu::layer
