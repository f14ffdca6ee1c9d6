// An OpenCL layer that makes devices fail as a script says: a library that the ICD loader (ocl-icd 2.3, Khronos 2022 and later)
// puts between a program and the drivers when OPENCL_LAYERS names it. script.hpp has the language and the variables. Calls that are
// not wrapped here pass untouched.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/layer/effects.hpp"
#include "tests/layer/objects.hpp"
#include "tests/layer/script.hpp"

namespace fault {
namespace {

constexpr int kBadScript = 125;  // exit code

const cl_icd_dispatch* cl = nullptr;  // the next layer, or the drivers
Script& script = *new Script;         // these outlive whatever threads a driver leaves running at exit
Objects& objects = *new Objects;

// What shall happen to a call: `error` for one that is refused, with the device's loss done.
Fault consider(std::string_view call, const Place& place, std::string kernel = {}, std::size_t bytes = 0) {
  Fault fault;
  fault.value = place.lost();
  fault.action = fault.value != CL_SUCCESS ? Action::error : Action::none;
  if (fault.action == Action::error) return fault;
  fault = script.at({call, place.id(), std::move(kernel), bytes});
  if (fault.action == Action::lose || fault.action == Action::die) {
    const auto code = static_cast<cl_int>(fault.value);
    if (place.context) place.context->lost = code;
    if (place.device && (fault.action == Action::die || !place.context)) place.device->dead = code;
    fault.action = Action::error;
  }
  return fault;
}

cl_int code_of(const Fault& fault) { return static_cast<cl_int>(fault.value); }

template <std::size_t size>
struct Name {
  char text[size];
  constexpr Name(const char (&name)[size]) { std::copy(name, name + size, text); }
};

// A call about its first argument that enqueues and makes nothing.
template <Name name, auto member>
struct Plain;
template <Name name, class First, class... Rest, cl_int (CL_API_CALL* cl_icd_dispatch::*member)(First, Rest...)>
struct Plain<name, member> {
  static cl_int CL_API_CALL call(First first, Rest... rest) {
    const Fault fault = consider(name.text, place_of(objects, first), kernel_of(objects, first));
    if (fault.action == Action::error) return code_of(fault);
    stall(fault);
    return (cl->*member)(first, rest...);
  }
};

// What a driver still lets go of when the device is lost.
template <Name name, auto member>
struct Release;
template <Name name, class Handle, cl_int (CL_API_CALL* cl_icd_dispatch::*member)(Handle)>
struct Release<name, member> {
  static cl_int CL_API_CALL call(Handle handle) {
    const Place place = place_of(objects, handle);
    if (place.lost() == CL_SUCCESS) {
      const Fault fault = consider(name.text, place, kernel_of(objects, handle));
      if (fault.action == Action::error) return code_of(fault);
      stall(fault);
    }
    return (cl->*member)(handle);
  }
};

// A call that makes an object. `make` gets where to write the status; `keep` the object.
template <class Make, class Keep>
auto create(std::string_view call, const Place& place, const std::string& kernel, std::size_t bytes, cl_int* status,
            const Make& make, const Keep& keep) -> decltype(make(status)) {
  cl_int own = CL_SUCCESS;
  cl_int& told = status != nullptr ? *status : own;
  const Fault fault = consider(call, place, kernel, bytes);
  if (fault.action == Action::error) {
    told = code_of(fault);
    return nullptr;
  }
  stall(fault);
  const auto made = make(&told);
  if (made != nullptr) keep(made);
  return made;
}

cl_int CL_API_CALL get_platform_ids(cl_uint entries, cl_platform_id* platforms, cl_uint* count) {
  const Fault fault = consider("clGetPlatformIDs", {});
  if (fault.action == Action::error) return code_of(fault);
  stall(fault);
  return cl->clGetPlatformIDs(entries, platforms, count);
}

// Names all devices of a platform, by their places among those that are really there.
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

cl_int CL_API_CALL get_device_ids(cl_platform_id platform, cl_device_type type, cl_uint entries, cl_device_id* devices,
                                  cl_uint* count) {
  cl_uint all = 0;
  const cl_int status = cl->clGetDeviceIDs(platform, type, 0, nullptr, &all);
  if (status != CL_SUCCESS) return status;
  learn(platform);
  std::vector<cl_device_id> there(all), listed;
  cl->clGetDeviceIDs(platform, type, all, there.data(), nullptr);
  for (cl_device_id device : there) {
    const Place place = place_of(objects, device);
    const Fault fault = place.lost() == CL_SUCCESS ? consider("clGetDeviceIDs", place) : Fault();  // a dead one is still listed
    if (fault.action == Action::error) return code_of(fault);
    stall(fault);
    if (fault.action != Action::vanish) listed.push_back(device);
  }
  if (count != nullptr) *count = static_cast<cl_uint>(listed.size());
  for (std::size_t i = 0; devices != nullptr && i < std::min<std::size_t>(entries, listed.size()); ++i) devices[i] = listed[i];
  return listed.empty() ? CL_DEVICE_NOT_FOUND : CL_SUCCESS;
}

cl_int CL_API_CALL create_sub_devices(cl_device_id parent, const cl_device_partition_property* properties, cl_uint entries,
                                      cl_device_id* devices, cl_uint* count) {
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

cl_context CL_API_CALL create_context(const cl_context_properties* properties, cl_uint count, const cl_device_id* devices,
                                      void(CL_CALLBACK* notify)(const char*, const void*, size_t, void*), void* data,
                                      cl_int* status) {
  const Place place = count > 0 && devices != nullptr ? place_of(objects, devices[0]) : Place();
  return create(
      "clCreateContext", place, {}, 0, status,
      [&](cl_int* told) { return cl->clCreateContext(properties, count, devices, notify, data, told); },
      [&](cl_context made) {
        auto context = std::make_shared<ContextState>();
        context->handle = made;
        context->device = devices[0];
        objects.contexts.put(made, {place.device, context});
      });
}

// On the device of the queue, which a context of several may not have first.
Place on_device(cl_context context, cl_device_id device) {
  Place place = place_of(objects, context);
  if (const Place own = place_of(objects, device); own.device) place.device = own.device;
  return place;
}

cl_command_queue CL_API_CALL create_queue(cl_context context, cl_device_id device, cl_command_queue_properties properties,
                                          cl_int* status) {
  const Place place = on_device(context, device);
  return create(
      "clCreateCommandQueue", place, {}, 0, status,
      [&](cl_int* told) { return cl->clCreateCommandQueue(context, device, properties, told); },
      [&](cl_command_queue made) { objects.queues.put(made, place); });
}

cl_command_queue CL_API_CALL create_queue_with_properties(cl_context context, cl_device_id device,
                                                          const cl_queue_properties* properties, cl_int* status) {
  const Place place = on_device(context, device);
  return create(
      "clCreateCommandQueueWithProperties", place, {}, 0, status,
      [&](cl_int* told) { return cl->clCreateCommandQueueWithProperties(context, device, properties, told); },
      [&](cl_command_queue made) { objects.queues.put(made, place); });
}

cl_mem CL_API_CALL create_buffer(cl_context context, cl_mem_flags flags, size_t size, void* host, cl_int* status) {
  const Place place = place_of(objects, context);
  return create(
      "clCreateBuffer", place, {}, size, status, [&](cl_int* told) { return cl->clCreateBuffer(context, flags, size, host, told); },
      [&](cl_mem made) {
        objects.memory.put(made, {place, size});
      });
}

cl_mem CL_API_CALL create_buffer_with_properties(cl_context context, const cl_mem_properties* properties, cl_mem_flags flags,
                                                 size_t size, void* host, cl_int* status) {
  const Place place = place_of(objects, context);
  return create(
      "clCreateBufferWithProperties", place, {}, size, status,
      [&](cl_int* told) { return cl->clCreateBufferWithProperties(context, properties, flags, size, host, told); },
      [&](cl_mem made) {
        objects.memory.put(made, {place, size});
      });
}

cl_program CL_API_CALL create_program_with_source(cl_context context, cl_uint count, const char** strings, const size_t* lengths,
                                                  cl_int* status) {
  const Place place = place_of(objects, context);
  return create(
      "clCreateProgramWithSource", place, {}, 0, status,
      [&](cl_int* told) { return cl->clCreateProgramWithSource(context, count, strings, lengths, told); },
      [&](cl_program made) { objects.programs.put(made, place); });
}

cl_program CL_API_CALL create_program_with_binary(cl_context context, cl_uint count, const cl_device_id* devices,
                                                  const size_t* lengths, const unsigned char** binaries, cl_int* each,
                                                  cl_int* status) {
  const Place place = place_of(objects, context);
  return create(
      "clCreateProgramWithBinary", place, {}, 0, status,
      [&](cl_int* told) { return cl->clCreateProgramWithBinary(context, count, devices, lengths, binaries, each, told); },
      [&](cl_program made) { objects.programs.put(made, place); });
}

cl_kernel CL_API_CALL create_kernel(cl_program program, const char* name, cl_int* status) {
  const Place place = place_of(objects, program);
  return create(
      "clCreateKernel", place, name, 0, status, [&](cl_int* told) { return cl->clCreateKernel(program, name, told); },
      [&](cl_kernel made) {
        objects.kernels.put(made, {place, name, {}});
      });
}

cl_event CL_API_CALL create_user_event(cl_context context, cl_int* status) {
  const Place place = place_of(objects, context);
  return create(
      "clCreateUserEvent", place, {}, 0, status, [&](cl_int* told) { return cl->clCreateUserEvent(context, told); },
      [&](cl_event made) {
        objects.events.put(made, {place, CL_SUCCESS, {}, nullptr, false});
      });
}

cl_int CL_API_CALL set_kernel_arg(cl_kernel kernel, cl_uint index, size_t size, const void* value) {
  cl_mem buffer = nullptr;
  if (size == sizeof buffer && value != nullptr) buffer = *static_cast<const cl_mem*>(value);
  const bool is_buffer = buffer != nullptr && objects.memory.has(buffer);  // or a number of eight bytes
  objects.kernels.change(kernel, [&](KernelState& state) {
    state.buffers.erase(index);
    if (is_buffer) state.buffers[index] = buffer;
  });
  return Plain<"clSetKernelArg", &cl_icd_dispatch::clSetKernelArg>::call(kernel, index, size, value);
}

// A command on its way, whatever it is.
struct Command {
  std::string_view call;
  cl_command_queue queue;
  cl_uint waits;
  const cl_event* list;
  cl_event* event;
  std::size_t bytes = 0;
  bool blocking = false;
  std::string kernel = {};
};
using Enqueue = std::function<cl_int(cl_uint waits, const cl_event* list, cl_event* event)>;
using EnqueueFlipped = std::function<cl_int(const Fault& fault, const Place& place, EventState& state)>;

cl_int enqueue(const Command& command, const Enqueue& real, const EnqueueFlipped& flipped = {}) {
  EventState state;
  state.place = place_of(objects, command.queue);
  const Fault fault = consider(command.call, state.place, command.kernel, command.bytes);
  if (fault.action == Action::error) return code_of(fault);
  cl_int status = CL_SUCCESS;
  if (fault.action == Action::fail || fault.action == Action::skip) {
    if (fault.action == Action::fail) state.failed = code_of(fault);
    status = cl->clEnqueueMarkerWithWaitList(command.queue, command.waits, command.list, command.event);
    if (status == CL_SUCCESS && command.blocking) {
      cl->clFinish(command.queue);
      if (state.failed != CL_SUCCESS) status = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
    }
  } else if (fault.action == Action::flip) {
    status = flipped(fault, state.place, state);
  } else {
    if (fault.action == Action::hang || fault.action == Action::delay)
      status = hold_back(*cl, state.place, command.queue, fault);
    else
      stall(fault);
    if (status == CL_SUCCESS) status = real(command.waits, command.list, command.event);
    state.stamps = fault.stamps;
  }
  if (status == CL_SUCCESS && command.event != nullptr) objects.events.put(*command.event, std::move(state));
  return status;
}

// Commands that nothing is told apart of: their last three arguments are the waits and the event.
template <Name name, auto member>
struct Other;
template <Name name, class... Arguments, cl_int (CL_API_CALL* cl_icd_dispatch::*member)(cl_command_queue, Arguments...)>
struct Other<name, member> {
  static cl_int CL_API_CALL call(cl_command_queue queue, Arguments... arguments) {
    constexpr std::size_t count = sizeof...(Arguments);
    std::tuple<Arguments...> all(arguments...);
    const Command command{name.text, queue, std::get<count - 3>(all), std::get<count - 2>(all), std::get<count - 1>(all)};
    return enqueue(command, [&](cl_uint waits, const cl_event* list, cl_event* event) {
      std::get<count - 3>(all) = waits;
      std::get<count - 2>(all) = list;
      std::get<count - 1>(all) = event;
      return std::apply([&](auto... each) { return (cl->*member)(queue, each...); }, all);
    });
  }
};

cl_int CL_API_CALL enqueue_write(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, size_t size,
                                 const void* from, cl_uint waits, const cl_event* list, cl_event* event) {
  const auto real = [&](const void* data) {
    return [=](cl_uint n, const cl_event* l, cl_event* e) {
      return cl->clEnqueueWriteBuffer(queue, buffer, blocking, offset, size, data, n, l, e);
    };
  };
  return enqueue({"clEnqueueWriteBuffer", queue, waits, list, event, size, blocking != CL_FALSE}, real(from),
                 [&](const Fault& fault, const Place&, EventState&) {
                   const unsigned char* copy = flipped_copy(from, size, fault.bit / 8 % size, fault.bit % 8);
                   return real(copy)(waits, list, event);
                 });
}

cl_int CL_API_CALL enqueue_write_rect(cl_command_queue queue, cl_mem buffer, cl_bool blocking, const size_t* to,
                                      const size_t* origin, const size_t* region, size_t to_row, size_t to_slice, size_t row,
                                      size_t slice, const void* from, cl_uint waits, const cl_event* list, cl_event* event) {
  const Rectangle host{origin, region, row, slice};
  const auto real = [&](const void* data) {
    return [=](cl_uint n, const cl_event* l, cl_event* e) {
      return cl->clEnqueueWriteBufferRect(queue, buffer, blocking, to, origin, region, to_row, to_slice, row, slice, data, n, l, e);
    };
  };
  return enqueue({"clEnqueueWriteBufferRect", queue, waits, list, event, host.bytes(), blocking != CL_FALSE}, real(from),
                 [&](const Fault& fault, const Place&, EventState&) {
                   const std::size_t byte = host.offset_of(fault.bit / 8 % host.bytes());
                   return real(flipped_copy(from, host.end(), byte, fault.bit % 8))(waits, list, event);
                 });
}

// A download from a copy of the buffer that has the flipped bit: what is in the device stays right. `real` reads from the memory
// given.
cl_int read_flipped(const Place& place, cl_command_queue queue, cl_mem buffer, std::size_t byte, unsigned bit, cl_uint waits,
                    const cl_event* list, const std::function<cl_int(cl_mem)>& real) {
  std::size_t size = 0;
  cl_int status = cl->clGetMemObjectInfo(buffer, CL_MEM_SIZE, sizeof size, &size, nullptr);
  if (status != CL_SUCCESS) return status;
  cl_mem copy = cl->clCreateBuffer(place.context->handle, CL_MEM_READ_WRITE, size, nullptr, &status);
  if (status != CL_SUCCESS) return status;
  status = cl->clEnqueueCopyBuffer(queue, buffer, copy, 0, 0, size, waits, list, nullptr);
  if (status == CL_SUCCESS) status = flip_bit(*cl, place, queue, copy, byte, bit, nullptr);
  if (status == CL_SUCCESS) status = real(copy);
  cl->clReleaseMemObject(copy);
  return status;
}

cl_int CL_API_CALL enqueue_read(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, size_t size, void* to,
                                cl_uint waits, const cl_event* list, cl_event* event) {
  return enqueue(
      {"clEnqueueReadBuffer", queue, waits, list, event, size, blocking != CL_FALSE},
      [&](cl_uint n, const cl_event* l, cl_event* e) {
        return cl->clEnqueueReadBuffer(queue, buffer, blocking, offset, size, to, n, l, e);
      },
      [&](const Fault& fault, const Place& place, EventState&) {
        return read_flipped(place, queue, buffer, offset + fault.bit / 8 % size, fault.bit % 8, waits, list, [&](cl_mem copy) {
          return cl->clEnqueueReadBuffer(queue, copy, blocking, offset, size, to, 0, nullptr, event);
        });
      });
}

cl_int CL_API_CALL enqueue_read_rect(cl_command_queue queue, cl_mem buffer, cl_bool blocking, const size_t* origin,
                                     const size_t* to, const size_t* region, size_t row, size_t slice, size_t to_row,
                                     size_t to_slice, void* data, cl_uint waits, const cl_event* list, cl_event* event) {
  const Rectangle device{origin, region, row, slice};
  const auto real = [&](cl_mem from, cl_uint n, const cl_event* l, cl_event* e) {
    return cl->clEnqueueReadBufferRect(queue, from, blocking, origin, to, region, row, slice, to_row, to_slice, data, n, l, e);
  };
  return enqueue(
      {"clEnqueueReadBufferRect", queue, waits, list, event, device.bytes(), blocking != CL_FALSE},
      [&](cl_uint n, const cl_event* l, cl_event* e) { return real(buffer, n, l, e); },
      [&](const Fault& fault, const Place& place, EventState&) {
        return read_flipped(place, queue, buffer, device.offset_of(fault.bit / 8 % device.bytes()), fault.bit % 8, waits, list,
                            [&](cl_mem copy) { return real(copy, 0, nullptr, event); });
      });
}

cl_int CL_API_CALL enqueue_kernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t* offset,
                                  const size_t* global, const size_t* local, cl_uint waits, const cl_event* list, cl_event* event) {
  const auto real = [&](cl_uint n, const cl_event* l, cl_event* e) {
    return cl->clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local, n, l, e);
  };
  const auto flipped = [&](const Fault& fault, const Place& place, EventState& state) {
    const auto buffers = objects.kernels.get(kernel).buffers;
    auto chosen = fault.arg ? buffers.find(*fault.arg) : buffers.begin();
    if (!fault.arg && !buffers.empty()) std::advance(chosen, fault.bit % buffers.size());
    cl_int status = real(waits, list, &state.begun);
    if (status != CL_SUCCESS) return status;
    const std::size_t size = chosen == buffers.end() ? 0 : objects.memory.get(chosen->second).size;
    if (size == 0) {  // this kernel has no such buffer: nothing to flip
      if (event != nullptr) *event = std::exchange(state.begun, nullptr);
      return status;
    }
    // Whatever waits for the kernel has to wait for the flip: its event stands for both.
    const std::uint64_t bits = fault.bit / std::max<std::size_t>(buffers.size(), 1);
    return flip_bit(*cl, place, queue, chosen->second, bits / 8 % size, bits % 8, event);
  };
  return enqueue({"clEnqueueNDRangeKernel", queue, waits, list, event, 0, false, kernel_of(objects, kernel)}, real, flipped);
}

void* CL_API_CALL enqueue_map(cl_command_queue queue, cl_mem buffer, cl_bool blocking, cl_map_flags flags, size_t offset,
                              size_t size, cl_uint waits, const cl_event* list, cl_event* event, cl_int* status) {
  void* mapped = nullptr;
  const cl_int told = enqueue({"clEnqueueMapBuffer", queue, waits, list, event, size, blocking != CL_FALSE},
                              [&](cl_uint n, const cl_event* l, cl_event* e) {
                                cl_int own = CL_SUCCESS;
                                mapped = cl->clEnqueueMapBuffer(queue, buffer, blocking, flags, offset, size, n, l, e, &own);
                                return own;
                              });
  if (status != nullptr) *status = told;
  return mapped;
}

cl_int CL_API_CALL get_event_info(cl_event event, cl_event_info what, size_t size, void* value, size_t* size_told) {
  const EventState state = objects.events.get(event);
  if (what != CL_EVENT_COMMAND_EXECUTION_STATUS || !state.place.context)
    return cl->clGetEventInfo(event, what, size, value, size_told);
  if (state.place.lost() == CL_SUCCESS) {
    const Fault fault = consider("clGetEventInfo", state.place);
    if (fault.action == Action::error && state.place.lost() == CL_SUCCESS) return code_of(fault);
    stall(fault);
  }
  const cl_int told = cl->clGetEventInfo(event, what, size, value, size_told);
  if (told != CL_SUCCESS || value == nullptr) return told;
  auto& status = *static_cast<cl_int*>(value);
  if (const cl_int lost = state.place.lost(); lost != CL_SUCCESS && !state.seen_complete) {
    status = lost;  // whatever it was doing
  } else if (status == CL_COMPLETE && state.failed != CL_SUCCESS) {
    status = state.failed;
  } else if (status == CL_COMPLETE && !state.seen_complete) {
    objects.events.change(event, [](EventState& e) { e.seen_complete = true; });
  }
  return told;
}

cl_int CL_API_CALL wait_for_events(cl_uint count, const cl_event* events) {
  bool fails = false;
  for (cl_uint i = 0; i < count; ++i) {
    const EventState state = objects.events.get(events[i]);
    if (i == 0 || state.place.lost() != CL_SUCCESS) {
      const Fault fault = consider("clWaitForEvents", state.place);
      if (fault.action == Action::error) return code_of(fault);
      stall(fault);
    }
    fails |= state.failed != CL_SUCCESS;
  }
  const cl_int status = cl->clWaitForEvents(count, events);
  return status == CL_SUCCESS && fails ? CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST : status;
}

struct Callback {
  void(CL_CALLBACK* notify)(cl_event, cl_int, void*);
  void* data;
};

cl_int CL_API_CALL set_event_callback(cl_event event, cl_int type, void(CL_CALLBACK* notify)(cl_event, cl_int, void*), void* data) {
  const Fault fault = consider("clSetEventCallback", place_of(objects, event));
  if (fault.action == Action::error) return code_of(fault);
  stall(fault);
  auto kept = std::make_unique<Callback>(Callback{notify, data});
  const auto tell = [](cl_event ended, cl_int status, void* given) {
    const std::unique_ptr<Callback> callback(static_cast<Callback*>(given));
    const EventState state = objects.events.get(ended);
    if (state.place.lost() != CL_SUCCESS)
      status = state.place.lost();
    else if (status == CL_COMPLETE && state.failed != CL_SUCCESS)
      status = state.failed;
    callback->notify(ended, status, callback->data);
  };
  const cl_int status = cl->clSetEventCallback(event, type, tell, kept.get());
  if (status == CL_SUCCESS) static_cast<void>(kept.release());
  return status;
}

cl_int CL_API_CALL get_profiling_info(cl_event event, cl_profiling_info what, size_t size, void* value, size_t* size_told) {
  const EventState state = objects.events.get(event);
  const Fault fault = consider("clGetEventProfilingInfo", state.place);
  if (fault.action == Action::error) return code_of(fault);
  stall(fault);
  if (state.failed != CL_SUCCESS) return CL_PROFILING_INFO_NOT_AVAILABLE;
  if (state.stamps == "backwards") {
    if (what == CL_PROFILING_COMMAND_START)
      what = CL_PROFILING_COMMAND_END;
    else if (what == CL_PROFILING_COMMAND_END)
      what = CL_PROFILING_COMMAND_START;
  }
  const bool ends = what == CL_PROFILING_COMMAND_END || what == CL_PROFILING_COMMAND_COMPLETE;
  cl_event asked = state.begun != nullptr && !ends ? state.begun : event;
  const cl_int told = cl->clGetEventProfilingInfo(asked, what, size, value, size_told);
  if (told != CL_SUCCESS || value == nullptr) return told;
  auto& stamp = *static_cast<cl_ulong*>(value);
  if (state.stamps == "zero") stamp = 0;
  if (state.stamps == "huge") stamp += cl_ulong{1} << 62;
  if (state.stamps == "backwards" && ends) stamp += 1000;  // even where it took no time
  return told;
}

void wrap_plain(cl_icd_dispatch& table) {
#define PLAIN(name) table.name = Plain<#name, &cl_icd_dispatch::name>::call
  PLAIN(clGetDeviceInfo);
  PLAIN(clBuildProgram);
  PLAIN(clGetProgramInfo);
  PLAIN(clGetProgramBuildInfo);
  PLAIN(clGetKernelInfo);
  PLAIN(clGetKernelWorkGroupInfo);
  PLAIN(clFlush);
  PLAIN(clFinish);
#undef PLAIN
#define RELEASE(name) table.name = Release<#name, &cl_icd_dispatch::name>::call
  RELEASE(clReleaseContext);
  RELEASE(clReleaseCommandQueue);
  RELEASE(clReleaseMemObject);
  RELEASE(clReleaseProgram);
  RELEASE(clReleaseKernel);
  RELEASE(clReleaseEvent);
#undef RELEASE
#define OTHER(name) table.name = Other<#name, &cl_icd_dispatch::name>::call
  OTHER(clEnqueueCopyBuffer);
  OTHER(clEnqueueCopyBufferRect);
  OTHER(clEnqueueFillBuffer);
  OTHER(clEnqueueMigrateMemObjects);
  OTHER(clEnqueueUnmapMemObject);
  OTHER(clEnqueueMarkerWithWaitList);
  OTHER(clEnqueueBarrierWithWaitList);
#undef OTHER
}

cl_icd_dispatch wrapped(const cl_icd_dispatch& next) {
  cl_icd_dispatch table = next;
  wrap_plain(table);
  table.clGetPlatformIDs = get_platform_ids;
  table.clGetDeviceIDs = get_device_ids;
  table.clCreateSubDevices = create_sub_devices;
  table.clCreateContext = create_context;
  table.clCreateCommandQueue = create_queue;
  table.clCreateCommandQueueWithProperties = create_queue_with_properties;
  table.clCreateBuffer = create_buffer;
  table.clCreateBufferWithProperties = create_buffer_with_properties;
  table.clCreateProgramWithSource = create_program_with_source;
  table.clCreateProgramWithBinary = create_program_with_binary;
  table.clCreateKernel = create_kernel;
  table.clCreateUserEvent = create_user_event;
  table.clSetKernelArg = set_kernel_arg;
  table.clEnqueueWriteBuffer = enqueue_write;
  table.clEnqueueWriteBufferRect = enqueue_write_rect;
  table.clEnqueueReadBuffer = enqueue_read;
  table.clEnqueueReadBufferRect = enqueue_read_rect;
  table.clEnqueueNDRangeKernel = enqueue_kernel;
  table.clEnqueueMapBuffer = enqueue_map;
  table.clGetEventInfo = get_event_info;
  table.clWaitForEvents = wait_for_events;
  table.clSetEventCallback = set_event_callback;
  table.clGetEventProfilingInfo = get_profiling_info;
  return table;
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

void read_script(const std::string& text, const std::string& log) {
  try {
    script.read(text, log);
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "fault_layer: %s\n", error.what());
    ::_exit(kBadScript);
  }
}

}  // namespace
}  // namespace fault

#define FAULT_EXPORT extern "C" __attribute__((visibility("default")))

FAULT_EXPORT cl_int CL_API_CALL clGetLayerInfo(cl_layer_info what, size_t size, void* value, size_t* size_told) {
  static constexpr char name[] = "mgpu-bench faults";
  const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
  const void* from = what == CL_LAYER_API_VERSION ? static_cast<const void*>(&version) : name;
  const size_t length = what == CL_LAYER_API_VERSION ? sizeof version : sizeof name;
  if (what != CL_LAYER_API_VERSION && what != CL_LAYER_NAME) return CL_INVALID_VALUE;
  if (value != nullptr && size < length) return CL_INVALID_VALUE;
  if (value != nullptr) std::copy_n(static_cast<const char*>(from), length, static_cast<char*>(value));
  if (size_told != nullptr) *size_told = length;
  return CL_SUCCESS;
}

FAULT_EXPORT cl_int CL_API_CALL clInitLayer(cl_uint entries, const cl_icd_dispatch* next, cl_uint* entries_told,
                                            const cl_icd_dispatch** told) {
  constexpr cl_uint known = sizeof(cl_icd_dispatch) / sizeof(void*);
  if (next == nullptr || entries_told == nullptr || told == nullptr || entries < known) return CL_INVALID_VALUE;
  static cl_icd_dispatch table;
  fault::cl = next;
  table = fault::wrapped(*next);
  fault::read_script(fault::variable("MGPU_FAULT_SCRIPT"), fault::variable("MGPU_FAULT_LOG"));
  *told = &table;
  *entries_told = known;
  return CL_SUCCESS;
}

// For tests of the layer in one process: instead of the variables. Threads that are inside calls see the old or the new rules.
FAULT_EXPORT void mgpu_fault_script(const char* text, const char* log) { fault::read_script(text, log); }
