// How the fault layer intercepts a call: the state that all wrapped calls share, and the common
// form of most of them.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

#include "lib/layer/protocol.hpp"
#include "tests/layer/effects.hpp"
#include "tests/layer/objects.hpp"
#include "tests/layer/script.hpp"

namespace fault {

// Set by clInitLayer before any call arrives; they outlive the threads that a driver leaves running
// at exit.
extern const cl_icd_dispatch* cl;  // the next layer, or the drivers
extern Script& script;
extern Objects& objects;

// Replace entries of a table that has the next layer's calls by this layer's.
void wrap_object_calls(
    cl_icd_dispatch& table);  // discovery, contexts, queues, memory, programs, kernels
void wrap_command_calls(cl_icd_dispatch& table);  // clEnqueue..., clFlush, clFinish
void wrap_event_calls(cl_icd_dispatch& table);    // event status, waits, callbacks and time stamps
void wrap_lie_calls(cl_icd_dispatch& table);      // queries and builds of devices that pretend

// Names all devices of a platform by their positions among those that really exist.
void learn(cl_platform_id platform);

// Returns what the device of an object pretends to be, or null.
inline std::shared_ptr<const Lie> lie_of(const Place& place) {
  return place.device ? script.lie(place.device->id) : nullptr;
}
// Returns the error of a call, or CL_SUCCESS, by the file of a device that pretends to be another.
cl_int refusal_of(const Lie& lie, std::string_view call, const Place& place, std::size_t bytes);
cl_int refusal_of_launch(const Lie& lie, cl_command_queue queue, cl_kernel kernel,
                         cl_uint dimensions, const size_t* local);
// Returns the real platform of one that a device which pretends has reported.
cl_platform_id real_platform(cl_platform_id platform);

// Returns the fault of a call, with action `error` if it is refused. Marks the device lost if the
// fault says so.
Fault consider(std::string_view call, const Place& place, std::string kernel = {},
               std::size_t bytes = 0);

inline cl_int code_of(const Fault& fault) { return static_cast<cl_int>(fault.value); }

using mgpu::layer::CallName;

// Wraps a call about its first argument that enqueues nothing and makes no object.
template <CallName name, auto member>
struct Plain;
template <CallName name, class First, class... Rest,
          cl_int (CL_API_CALL* cl_icd_dispatch::*member)(First, Rest...)>
struct Plain<name, member> {
  static cl_int CL_API_CALL call(First first, Rest... rest) {
    const Fault fault = consider(name.text, place_of(objects, first), kernel_of(objects, first));
    if (fault.action == Action::error) return code_of(fault);
    stall(fault);
    return (cl->*member)(first, rest...);
  }
};

// Wraps a call that releases an object, which drivers execute even after the device was lost.
template <CallName name, auto member>
struct Release;
template <CallName name, class Handle, cl_int (CL_API_CALL* cl_icd_dispatch::*member)(Handle)>
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

// Wraps a call that makes an object. `make` gets the address for the status, `keep` the object.
template <class Make, class Keep>
auto create(std::string_view call, const Place& place, const std::string& kernel, std::size_t bytes,
            cl_int* status, const Make& make, const Keep& keep) -> decltype(make(status)) {
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

}  // namespace fault
