// Calls that wait, calls about events, and queries whose answers the layer would change.
#include <algorithm>
#include <cstring>
#include <vector>

#include "lib/layer/calls.hpp"

namespace mgpu::layer {
namespace {

cl_int CL_API_CALL wait_for_events(cl_uint count, const cl_event* list) {
  Recorder& own = recording();
  constexpr cl_uint kMost = 256;
  std::uint64_t numbers[kMost];
  const cl_uint known = list != nullptr ? std::min(count, kMost) : 0;
  for (cl_uint e = 0; e < known; ++e) numbers[e] = own.numbers.get(list[e], own.last_number());
  TimedCall timed("clWaitForEvents", nullptr, true);
  timed.waits({numbers, known});
  return timed.returned(next->clWaitForEvents(count, list));
}

cl_event CL_API_CALL create_user_event(cl_context context, cl_int* status) {
  const cl_event made = next->clCreateUserEvent(context, status);
  if (made == nullptr) return made;
  Recorder& own = recording();
  command_log::UserEvent event{};
  event.number = own.next_number();
  event.time_ns = now_ns();
  event.context = known_context(context);
  event.thread = own.thread().id;
  own.numbers.put(made, event.number);
  own.push(Kind::user_event, event);
  return made;
}

cl_int CL_API_CALL set_user_event(cl_event event, cl_int execution) {
  Recorder& own = recording();
  // Before the call: the event may be gone when it returns.
  const std::uint64_t number = own.numbers.get(event, own.last_number());
  const std::uint64_t before = now_ns();
  const cl_int status = next->clSetUserEventStatus(event, execution);
  if (status != CL_SUCCESS) return status;
  command_log::UserEventStatus record{};
  record.number = number;
  record.time_ns = before;
  record.status = execution;
  record.thread = own.thread().id;
  own.push(Kind::user_event_status, record);
  return status;
}

// Wraps a query of an object. References of the layer's are not among those that it counts.
template <auto member, cl_uint references>
struct Counted;
template <class Handle, class What,
          cl_int (CL_API_CALL* cl_icd_dispatch::*member)(Handle, What, size_t, void*, size_t*),
          cl_uint references>
struct Counted<member, references> {
  static cl_int CL_API_CALL call(Handle handle, What what, size_t size, void* value,
                                 size_t* size_told) {
    if (what != references) return (next->*member)(handle, what, size, value, size_told);
    cl_int status = CL_SUCCESS;
    recording().after_collecting([&](const auto& held) {
      status = (next->*member)(handle, what, size, value, size_told);
      if constexpr (std::is_same_v<Handle, cl_event>)
        if (status == CL_SUCCESS && value != nullptr && held(handle))
          --*static_cast<cl_uint*>(value);
    });
    return status;
  }
};

cl_int CL_API_CALL get_event_info(cl_event event, cl_event_info what, size_t size, void* value,
                                  size_t* size_told) {
  if (what == CL_EVENT_COMMAND_EXECUTION_STATUS) ThreadState::add(recording().thread().polls, 1);
  return Counted<&cl_icd_dispatch::clGetEventInfo, CL_EVENT_REFERENCE_COUNT>::call(
      event, what, size, value, size_told);
}

cl_int CL_API_CALL get_queue_info(cl_command_queue queue, cl_command_queue_info what, size_t size,
                                  void* value, size_t* size_told) {
  const auto real =
      Counted<&cl_icd_dispatch::clGetCommandQueueInfo, CL_QUEUE_REFERENCE_COUNT>::call;
  const auto* object = recording().handles.find<QueueObject>(queue, Kind::queue);
  if (object == nullptr || !object->times) return real(queue, what, size, value, size_told);
  if (what == CL_QUEUE_PROPERTIES_ARRAY) {
    size_t there = 0;
    const cl_int status = next->clGetCommandQueueInfo(queue, what, 0, nullptr, &there);
    if (status != CL_SUCCESS) return status;
    const size_t bytes = object->asked_list.size() * sizeof(cl_queue_properties);
    if (value != nullptr && size < bytes) return CL_INVALID_VALUE;
    if (value != nullptr && bytes > 0) std::memcpy(value, object->asked_list.data(), bytes);
    if (size_told != nullptr) *size_told = bytes;
    return CL_SUCCESS;
  }
  const cl_int status = real(queue, what, size, value, size_told);
  if (what == CL_QUEUE_PROPERTIES && status == CL_SUCCESS && value != nullptr &&
      object->hides_profiling())
    *static_cast<cl_command_queue_properties*>(value) &=
        ~cl_command_queue_properties{CL_QUEUE_PROFILING_ENABLE};
  return status;
}

cl_int CL_API_CALL get_profiling_info(cl_event event, cl_profiling_info what, size_t size,
                                      void* value, size_t* size_told) {
  cl_command_queue queue = nullptr;
  if (next->clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof queue, &queue, nullptr) ==
          CL_SUCCESS &&
      queue != nullptr) {
    const auto* object = recording().handles.find<QueueObject>(queue, Kind::queue);
    if (object != nullptr && object->hides_profiling()) return CL_PROFILING_INFO_NOT_AVAILABLE;
  }
  return next->clGetEventProfilingInfo(event, what, size, value, size_told);
}

cl_program CL_API_CALL link_program(cl_context context, cl_uint device_count,
                                    const cl_device_id* devices, const char* options, cl_uint count,
                                    const cl_program* programs,
                                    void(CL_CALLBACK* notify)(cl_program, void*), void* data,
                                    cl_int* status) {
  cl_program made = nullptr;
  {
    TimedCall timed("clLinkProgram", context, true);
    made = next->clLinkProgram(context, device_count, devices, options, count, programs, notify,
                               data, status);
  }
  if (made != nullptr) add_program(made, 0);
  return made;
}

}  // namespace

void wrap_wait_calls(cl_icd_dispatch& table) {
#define REPLACE(entry, by) table.entry = by
#define TIMED(entry, always) REPLACE(entry, (Timed<#entry, always, &cl_icd_dispatch::entry>::call))
#define COUNTED(entry, references) \
  REPLACE(entry, (Counted<&cl_icd_dispatch::entry, references>::call))
  TIMED(clFinish, true);
  TIMED(clFlush, false);
  REPLACE(clWaitForEvents, wait_for_events);
  TIMED(clReleaseEvent, false);
  REPLACE(clCreateUserEvent, create_user_event);
  REPLACE(clSetUserEventStatus, set_user_event);
  REPLACE(clGetEventInfo, get_event_info);
  REPLACE(clGetCommandQueueInfo, get_queue_info);
  REPLACE(clGetEventProfilingInfo, get_profiling_info);
  REPLACE(clLinkProgram, link_program);
  COUNTED(clGetContextInfo, CL_CONTEXT_REFERENCE_COUNT);
  COUNTED(clGetMemObjectInfo, CL_MEM_REFERENCE_COUNT);
  COUNTED(clGetKernelInfo, CL_KERNEL_REFERENCE_COUNT);
  COUNTED(clGetProgramInfo, CL_PROGRAM_REFERENCE_COUNT);
#undef TIMED
#undef COUNTED
#undef REPLACE
}

}  // namespace mgpu::layer
