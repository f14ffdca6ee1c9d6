// How calls are wrapped: forms that most of them share.
#pragma once

#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include "lib/layer/objects.hpp"
#include "lib/layer/protocol.hpp"
#include "lib/layer/recorder.hpp"

namespace mgpu::layer {

// Replace entries of a table that has the next layer's calls by this layer's.
void wrap_object_calls(cl_icd_dispatch& table);   // discovery, contexts, queues, memory, ...
void wrap_command_calls(cl_icd_dispatch& table);  // clEnqueue...
void wrap_wait_calls(cl_icd_dispatch& table);     // waits, events and queries

// Records a call of the program when it goes out of scope: always, or if it took long.
class TimedCall {
 public:
  TimedCall(const char* name, const void* object, bool always = false)
      : name_(name), always_(always), begin_(now_ns()) {
    ThreadState::add(own_.thread().calls, 1);
    const Object* known = object != nullptr ? own_.handles.find(object) : nullptr;
    call_.object = known != nullptr ? known->id : 0;
  }
  ~TimedCall() {
    const std::uint64_t end = now_ns();
    if (!always_ && end - begin_ < command_log::kLongCall) return;
    call_.begin_ns = begin_;
    call_.end_ns = end;
    call_.thread = own_.thread().id;
    call_.wait_count = static_cast<std::uint32_t>(waits_.size());
    own_.push(command_log::Kind::host_call, call_, {std::as_bytes(waits_)}, name_);
  }
  TimedCall(const TimedCall&) = delete;
  TimedCall& operator=(const TimedCall&) = delete;

  // Takes the result of the call, if it is a status.
  template <class Result>
  Result returned(Result result) {
    if constexpr (std::is_same_v<Result, cl_int>) call_.status = result;
    return result;
  }
  void waits(std::span<const std::uint64_t> numbers) { waits_ = numbers; }

 private:
  Recorder& own_ = recording();
  const char* name_;
  bool always_;
  std::uint64_t begin_;
  command_log::HostCall call_{};
  std::span<const std::uint64_t> waits_;
};

// Wraps a call that is only timed.
template <CallName name, bool always, auto member>
struct Timed;
template <CallName name, bool always, class Result, class First, class... Rest,
          Result (CL_API_CALL* cl_icd_dispatch::*member)(First, Rest...)>
struct Timed<name, always, member> {
  static Result CL_API_CALL call(First first, Rest... rest) {
    const void* object = nullptr;
    if constexpr (std::is_pointer_v<First>) object = first;
    TimedCall timed(name.text, object, always);
    if constexpr (std::is_void_v<Result>)
      (next->*member)(first, rest...);
    else
      return timed.returned((next->*member)(first, rest...));
  }
};

// Wraps a call that makes an object; `add(made)` has it known.
template <CallName name, auto member, auto add>
struct Create;
template <CallName name, class Made, class First, class... Rest,
          Made (CL_API_CALL* cl_icd_dispatch::*member)(First, Rest...), auto add>
struct Create<name, member, add> {
  static Made CL_API_CALL call(First first, Rest... rest) {
    const Made made = Timed<name, false, member>::call(first, rest...);
    if (made != nullptr) add(made, first, rest...);
    return made;
  }
};

// Counts the program's references.
template <CallName name, auto member>
struct Retain;
template <CallName name, class Handle, cl_int (CL_API_CALL* cl_icd_dispatch::*member)(Handle)>
struct Retain<name, member> {
  static cl_int CL_API_CALL call(Handle handle) {
    const cl_int status = Timed<name, false, member>::call(handle);
    Object* object = handle != nullptr ? recording().handles.find(handle) : nullptr;
    if (status == CL_SUCCESS && object != nullptr) ++object->references;
    return status;
  }
};
template <CallName name, auto member>
struct Release;
template <CallName name, class Handle, cl_int (CL_API_CALL* cl_icd_dispatch::*member)(Handle)>
struct Release<name, member> {
  static cl_int CL_API_CALL call(Handle handle) {
    Object* object = handle != nullptr ? recording().handles.find(handle) : nullptr;
    TimedCall timed(name.text, handle);
    // Before the call: another object may get the handle as soon as this one is gone.
    if (object != nullptr && --object->references == 0) forget(handle, *object);
    return timed.returned((next->*member)(handle));
  }
};

}  // namespace mgpu::layer
