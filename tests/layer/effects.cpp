#include "tests/layer/effects.hpp"

#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

namespace fault {
namespace {

constexpr const char* kFlipper = R"(
kernel void fault_flip(global uchar* bytes, uint low, uint high, uint mask) {
  bytes[((ulong)high << 32) | low] ^= (uchar)mask;
})";

cl_program flipper_of(const cl_icd_dispatch& cl, const Place& place) {
  ContextState& context = *place.context;
  const std::lock_guard lock(context.mutex);
  if (context.flipper != nullptr) return context.flipper;
  const char* text = kFlipper;
  cl_program program = cl.clCreateProgramWithSource(context.handle, 1, &text, nullptr, nullptr);
  if (program == nullptr) return nullptr;
  // PoCL treats one program built on two devices as the same and then counts its users wrongly; the
  // option makes the programs differ.
  std::string options = "-DFAULT_DEVICE_" + place.id();
  for (char& c : options) c = c == ':' || c == '.' ? '_' : c;
  if (cl.clBuildProgram(program, 1, &context.device, options.c_str(), nullptr, nullptr) !=
      CL_SUCCESS)
    return nullptr;
  return context.flipper = program;
}

}  // namespace

void stall(const Fault& fault) {
  if (fault.action == Action::delay || fault.action == Action::delay_call)
    std::this_thread::sleep_for(std::chrono::milliseconds(fault.value));
  while (fault.action == Action::hang || fault.action == Action::hang_call) ::pause();
}

cl_int hold_back(const cl_icd_dispatch& cl, const Place& place, cl_command_queue queue,
                 const Fault& fault) {
  cl_int status = CL_SUCCESS;
  cl_event gate = cl.clCreateUserEvent(place.context->handle, &status);
  if (status == CL_SUCCESS) status = cl.clEnqueueBarrierWithWaitList(queue, 1, &gate, nullptr);
  if (status != CL_SUCCESS || fault.action == Action::hang) return status;
  std::thread([&cl, gate, fault] {
    stall(fault);
    cl.clSetUserEventStatus(gate, CL_COMPLETE);
    cl.clReleaseEvent(gate);
  }).detach();
  return CL_SUCCESS;
}

cl_int flip_bit(const cl_icd_dispatch& cl, const Place& place, cl_command_queue queue,
                cl_mem memory, std::size_t byte, unsigned bit, cl_event* event) {
  cl_program program = flipper_of(cl, place);
  if (program == nullptr) return CL_BUILD_PROGRAM_FAILURE;
  cl_int status = CL_SUCCESS;
  cl_kernel kernel = cl.clCreateKernel(program, "fault_flip", &status);
  if (status != CL_SUCCESS) return status;
  const cl_uint low = static_cast<cl_uint>(byte), high = static_cast<cl_uint>(byte >> 32),
                mask = 1u << (bit % 8);
  cl.clSetKernelArg(kernel, 0, sizeof memory, &memory);
  cl.clSetKernelArg(kernel, 1, sizeof low, &low);
  cl.clSetKernelArg(kernel, 2, sizeof high, &high);
  cl.clSetKernelArg(kernel, 3, sizeof mask, &mask);
  const std::size_t one = 1;
  status = cl.clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &one, &one, 0, nullptr, event);
  cl.clReleaseKernel(kernel);
  return status;
}

std::size_t Rectangle::offset_of(std::size_t byte) const {
  const std::size_t x = byte % region[0], y = byte / region[0] % region[1],
                    z = byte / region[0] / region[1];
  return (origin[2] + z) * slice_pitch() + (origin[1] + y) * row_pitch() + origin[0] + x;
}

unsigned char* flipped_copy(const void* from, std::size_t size, std::size_t byte, unsigned bit) {
  static std::mutex mutex;
  static auto& kept = *new std::vector<std::unique_ptr<std::vector<unsigned char>>>;
  const auto* bytes = static_cast<const unsigned char*>(from);
  auto copy = std::make_unique<std::vector<unsigned char>>(bytes, bytes + size);
  (*copy)[byte] ^= static_cast<unsigned char>(1u << (bit % 8));
  const std::lock_guard lock(mutex);
  kept.push_back(std::move(copy));
  return kept.back()->data();
}

}  // namespace fault
