// Makes objects of the program known: to the log, and to later calls.
#pragma once

#include <cstdint>
#include <span>

#include "lib/layer/opencl.hpp"
#include "lib/layer/recorder.hpp"

namespace mgpu::layer {

// Add an object that was just made. All but queues that the layer made with other properties than
// the program's are described by what the driver tells of them.
std::uint32_t add_device(cl_device_id device);
// `given`: the devices that the program named; empty: those that the context says it has. PoCL
// names whole devices instead of their parts.
std::uint32_t add_context(cl_context context, std::span<const cl_device_id> given = {});
QueueObject* add_queue(cl_command_queue queue, bool times, cl_command_queue_properties asked,
                       const cl_queue_properties* asked_list);
std::uint32_t add_program(cl_program program, std::uint64_t source_bytes);
KernelObject* add_kernel(cl_kernel kernel);
MemoryObject* add_memory(cl_mem memory);
void add_svm(cl_context context, void* pointer, std::size_t bytes, cl_svm_mem_flags flags);

// Return what is known of an object of the program. An object that an extension or another library
// made is added first. Must not be given a handle that the driver has not accepted.
std::uint32_t known_device(cl_device_id device);
std::uint32_t known_context(cl_context context);
std::uint32_t known_program(cl_program program);
KernelObject& known_kernel(cl_kernel kernel);
MemoryObject& known_memory(cl_mem memory);

// Returns the id of an object, or 0.
inline std::uint32_t id_of(const void* handle) {
  const Object* object = handle != nullptr ? recording().handles.find(handle) : nullptr;
  return object != nullptr ? object->id : 0;
}

// The program releases its last reference.
void forget(const void* handle, Object& object);

}  // namespace mgpu::layer
