// An OpenCL layer that makes devices fail as a script says. It is a library that the ICD loader
// (ocl-icd 2.3, Khronos 2022 and later) puts between a program and the drivers if OPENCL_LAYERS
// names it. script.hpp describes the language and the variables. Calls that are not wrapped here
// pass unchanged.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "tests/layer/calls.hpp"

namespace fault {

const cl_icd_dispatch* cl = nullptr;
Script& script = *new Script;
Objects& objects = *new Objects;

Fault consider(std::string_view call, const Place& place, std::string kernel, std::size_t bytes) {
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
  if (fault.action != Action::error) {
    const auto lie = lie_of(place);
    const cl_int refusal = lie ? refusal_of(*lie, call, place, bytes) : CL_SUCCESS;
    if (refusal != CL_SUCCESS) {
      fault.action = Action::error;
      fault.value = refusal;
    }
  }
  return fault;
}

namespace {

constexpr int kBadScript = 125;  // exit code

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

void wrap_calls(const cl_icd_dispatch* next, cl_icd_dispatch& table) {
  cl = next;
  wrap_object_calls(table);
  wrap_command_calls(table);
  wrap_event_calls(table);
  wrap_lie_calls(table);
  read_script(variable("MGPU_FAULT_SCRIPT"), variable("MGPU_FAULT_LOG"));
}

}  // namespace
}  // namespace fault

MGPU_LAYER("mgpu-bench faults", fault::wrap_calls)

// Sets the script in place of the variables, for tests of the layer in one process. Threads that
// are inside calls see the old or the new rules. Devices that died live again.
MGPU_LAYER_EXPORT void mgpu_fault_script(const char* text, const char* log) {
  fault::read_script(text, log);
  fault::objects.devices.change_all([](fault::Place& place) { place.device->dead = CL_SUCCESS; });
}
