// Calls that enqueue commands on a device.
#include <algorithm>
#include <functional>
#include <tuple>
#include <utility>

#include "tests/layer/calls.hpp"

namespace fault {
namespace {

// A command of any kind that is being enqueued.
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
using EnqueueFlipped =
    std::function<cl_int(const Fault& fault, const Place& place, EventState& state)>;

cl_int enqueue(const Command& command, const Enqueue& real, const EnqueueFlipped& flipped = {}) {
  EventState state;
  state.place = place_of(objects, command.queue);
  const Fault fault = consider(command.call, state.place, command.kernel, command.bytes);
  if (fault.action == Action::error) return code_of(fault);
  cl_int status = CL_SUCCESS;
  // No command in its queue runs after a command that failed. If the program requested no event for
  // that one, the next command with an event reports the failure.
  const bool tells = command.event != nullptr || command.blocking;
  state.failed = fault.action == Action::fail ? code_of(fault) : objects.failed.get(command.queue);
  if (state.failed != CL_SUCCESS)
    objects.failed.put(command.queue, tells ? CL_SUCCESS : state.failed);
  if (state.failed != CL_SUCCESS || fault.action == Action::skip) {
    status =
        cl->clEnqueueMarkerWithWaitList(command.queue, command.waits, command.list, command.event);
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
  if (status == CL_SUCCESS && command.event != nullptr)
    objects.events.put(*command.event, std::move(state));
  return status;
}

// Wraps commands that need no special treatment: their last three arguments are the waits and the
// event.
template <CallName name, auto member>
struct Other;
template <CallName name, class... Arguments,
          cl_int (CL_API_CALL* cl_icd_dispatch::*member)(cl_command_queue, Arguments...)>
struct Other<name, member> {
  static cl_int CL_API_CALL call(cl_command_queue queue, Arguments... arguments) {
    constexpr std::size_t count = sizeof...(Arguments);
    std::tuple<Arguments...> all(arguments...);
    const Command command{name.text, queue, std::get<count - 3>(all), std::get<count - 2>(all),
                          std::get<count - 1>(all)};
    return enqueue(command, [&](cl_uint waits, const cl_event* list, cl_event* event) {
      std::get<count - 3>(all) = waits;
      std::get<count - 2>(all) = list;
      std::get<count - 1>(all) = event;
      return std::apply([&](auto... each) { return (cl->*member)(queue, each...); }, all);
    });
  }
};

cl_int CL_API_CALL enqueue_write(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                 size_t offset, size_t size, const void* from, cl_uint waits,
                                 const cl_event* list, cl_event* event) {
  const auto real = [&](const void* data) {
    return [=](cl_uint n, const cl_event* l, cl_event* e) {
      return cl->clEnqueueWriteBuffer(queue, buffer, blocking, offset, size, data, n, l, e);
    };
  };
  return enqueue({"clEnqueueWriteBuffer", queue, waits, list, event, size, blocking != CL_FALSE},
                 real(from), [&](const Fault& fault, const Place&, EventState&) {
                   const unsigned char* copy =
                       flipped_copy(from, size, fault.bit / 8 % size, fault.bit % 8);
                   return real(copy)(waits, list, event);
                 });
}

cl_int CL_API_CALL enqueue_write_rect(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                      const size_t* to, const size_t* origin, const size_t* region,
                                      size_t to_row, size_t to_slice, size_t row, size_t slice,
                                      const void* from, cl_uint waits, const cl_event* list,
                                      cl_event* event) {
  const Rectangle host{origin, region, row, slice};
  const auto real = [&](const void* data) {
    return [=](cl_uint n, const cl_event* l, cl_event* e) {
      return cl->clEnqueueWriteBufferRect(queue, buffer, blocking, to, origin, region, to_row,
                                          to_slice, row, slice, data, n, l, e);
    };
  };
  return enqueue(
      {"clEnqueueWriteBufferRect", queue, waits, list, event, host.bytes(), blocking != CL_FALSE},
      real(from), [&](const Fault& fault, const Place&, EventState&) {
        const std::size_t byte = host.offset_of(fault.bit / 8 % host.bytes());
        return real(flipped_copy(from, host.end(), byte, fault.bit % 8))(waits, list, event);
      });
}

// Downloads from a copy of the buffer that has the flipped bit, so that the data on the device
// stays right. `real` reads from the given memory.
cl_int read_flipped(const Place& place, cl_command_queue queue, cl_mem buffer, std::size_t byte,
                    unsigned bit, cl_uint waits, const cl_event* list,
                    const std::function<cl_int(cl_mem)>& real) {
  std::size_t size = 0;
  cl_int status = cl->clGetMemObjectInfo(buffer, CL_MEM_SIZE, sizeof size, &size, nullptr);
  if (status != CL_SUCCESS) return status;
  cl_mem copy =
      cl->clCreateBuffer(place.context->handle, CL_MEM_READ_WRITE, size, nullptr, &status);
  if (status != CL_SUCCESS) return status;
  status = cl->clEnqueueCopyBuffer(queue, buffer, copy, 0, 0, size, waits, list, nullptr);
  if (status == CL_SUCCESS) status = flip_bit(*cl, place, queue, copy, byte, bit, nullptr);
  if (status == CL_SUCCESS) status = real(copy);
  cl->clReleaseMemObject(copy);
  return status;
}

cl_int CL_API_CALL enqueue_read(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                size_t offset, size_t size, void* to, cl_uint waits,
                                const cl_event* list, cl_event* event) {
  return enqueue(
      {"clEnqueueReadBuffer", queue, waits, list, event, size, blocking != CL_FALSE},
      [&](cl_uint n, const cl_event* l, cl_event* e) {
        return cl->clEnqueueReadBuffer(queue, buffer, blocking, offset, size, to, n, l, e);
      },
      [&](const Fault& fault, const Place& place, EventState&) {
        return read_flipped(place, queue, buffer, offset + fault.bit / 8 % size, fault.bit % 8,
                            waits, list, [&](cl_mem copy) {
                              return cl->clEnqueueReadBuffer(queue, copy, blocking, offset, size,
                                                             to, 0, nullptr, event);
                            });
      });
}

cl_int CL_API_CALL enqueue_read_rect(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                     const size_t* origin, const size_t* to, const size_t* region,
                                     size_t row, size_t slice, size_t to_row, size_t to_slice,
                                     void* data, cl_uint waits, const cl_event* list,
                                     cl_event* event) {
  const Rectangle device{origin, region, row, slice};
  const auto real = [&](cl_mem from, cl_uint n, const cl_event* l, cl_event* e) {
    return cl->clEnqueueReadBufferRect(queue, from, blocking, origin, to, region, row, slice,
                                       to_row, to_slice, data, n, l, e);
  };
  return enqueue(
      {"clEnqueueReadBufferRect", queue, waits, list, event, device.bytes(), blocking != CL_FALSE},
      [&](cl_uint n, const cl_event* l, cl_event* e) { return real(buffer, n, l, e); },
      [&](const Fault& fault, const Place& place, EventState&) {
        return read_flipped(place, queue, buffer, device.offset_of(fault.bit / 8 % device.bytes()),
                            fault.bit % 8, waits, list,
                            [&](cl_mem copy) { return real(copy, 0, nullptr, event); });
      });
}

cl_int CL_API_CALL enqueue_kernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                                  const size_t* offset, const size_t* global, const size_t* local,
                                  cl_uint waits, const cl_event* list, cl_event* event) {
  const auto lie = lie_of(place_of(objects, queue));
  const auto real = [&](cl_uint n, const cl_event* l, cl_event* e) {
    const cl_int refusal =
        lie ? refusal_of_launch(*lie, queue, kernel, dimensions, local) : CL_SUCCESS;
    return refusal != CL_SUCCESS ? refusal
                                 : cl->clEnqueueNDRangeKernel(queue, kernel, dimensions, offset,
                                                              global, local, n, l, e);
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
    // Commands that wait for the kernel must wait for the flip too: its event stands for both.
    const std::uint64_t bits = fault.bit / std::max<std::size_t>(buffers.size(), 1);
    return flip_bit(*cl, place, queue, chosen->second, bits / 8 % size, bits % 8, event);
  };
  return enqueue(
      {"clEnqueueNDRangeKernel", queue, waits, list, event, 0, false, kernel_of(objects, kernel)},
      real, flipped);
}

void* CL_API_CALL enqueue_map(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                              cl_map_flags flags, size_t offset, size_t size, cl_uint waits,
                              const cl_event* list, cl_event* event, cl_int* status) {
  void* mapped = nullptr;
  const cl_int told =
      enqueue({"clEnqueueMapBuffer", queue, waits, list, event, size, blocking != CL_FALSE},
              [&](cl_uint n, const cl_event* l, cl_event* e) {
                cl_int own = CL_SUCCESS;
                mapped = cl->clEnqueueMapBuffer(queue, buffer, blocking, flags, offset, size, n, l,
                                                e, &own);
                return own;
              });
  if (status != nullptr) *status = told;
  return mapped;
}

}  // namespace

void wrap_command_calls(cl_icd_dispatch& table) {
#define PLAIN(name) table.name = Plain<#name, &cl_icd_dispatch::name>::call
  PLAIN(clFlush);
  PLAIN(clFinish);
#undef PLAIN
#define OTHER(name) table.name = Other<#name, &cl_icd_dispatch::name>::call
  OTHER(clEnqueueCopyBuffer);
  OTHER(clEnqueueCopyBufferRect);
  OTHER(clEnqueueFillBuffer);
  OTHER(clEnqueueMigrateMemObjects);
  OTHER(clEnqueueUnmapMemObject);
  OTHER(clEnqueueMarkerWithWaitList);
  OTHER(clEnqueueBarrierWithWaitList);
#undef OTHER
  table.clEnqueueWriteBuffer = enqueue_write;
  table.clEnqueueWriteBufferRect = enqueue_write_rect;
  table.clEnqueueReadBuffer = enqueue_read;
  table.clEnqueueReadBufferRect = enqueue_read_rect;
  table.clEnqueueNDRangeKernel = enqueue_kernel;
  table.clEnqueueMapBuffer = enqueue_map;
}

}  // namespace fault
