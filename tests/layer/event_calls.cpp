// Calls that report on commands: status, waits, callbacks, time stamps.
#include <memory>

#include "tests/layer/calls.hpp"

namespace fault {
namespace {

cl_int CL_API_CALL get_event_info(cl_event event, cl_event_info what, size_t size, void* value,
                                  size_t* size_told) {
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
    status = lost;  // regardless of its own status
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

cl_int CL_API_CALL set_event_callback(cl_event event, cl_int type,
                                      void(CL_CALLBACK* notify)(cl_event, cl_int, void*),
                                      void* data) {
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

cl_int CL_API_CALL get_profiling_info(cl_event event, cl_profiling_info what, size_t size,
                                      void* value, size_t* size_told) {
  const EventState state = objects.events.get(event);
  const Fault fault = consider("clGetEventProfilingInfo", state.place);
  if (fault.action == Action::error) return code_of(fault);
  stall(fault);
  const auto lie = lie_of(state.place);
  if (state.failed != CL_SUCCESS || (lie && lie->stamps == "unavailable"))
    return CL_PROFILING_INFO_NOT_AVAILABLE;
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
  if (lie)
    stamp -= stamp % std::max<std::size_t>(
                         1, lie->get(CL_DEVICE_PROFILING_TIMER_RESOLUTION, std::size_t{1}));
  if (state.stamps == "zero" || (lie && lie->stamps == "zero")) stamp = 0;
  if (state.stamps == "huge") stamp += cl_ulong{1} << 62;
  if (state.stamps == "backwards" && ends) stamp += 1000;  // also if it took no time
  return told;
}

}  // namespace

void wrap_event_calls(cl_icd_dispatch& table) {
  table.clGetEventInfo = get_event_info;
  table.clWaitForEvents = wait_for_events;
  table.clSetEventCallback = set_event_callback;
  table.clGetEventProfilingInfo = get_profiling_info;
}

}  // namespace fault
