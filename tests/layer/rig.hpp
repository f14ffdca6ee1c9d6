// Tools of the fault layer's tests: a script, the layer's log, and a device with something to do.
#pragma once

#include <dlfcn.h>
#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/layer/objects.hpp"
#include "tests/support/paths.hpp"

namespace mgpu::test {

using Bytes = std::vector<unsigned char>;
inline constexpr std::size_t kSize = 1024;

inline std::filesystem::path log_file() {
  return std::filesystem::temp_directory_path() /
         ("fault_layer_test." + std::to_string(::getpid()));
}

// Sets these rules and an empty log, in the layer that the loader has loaded.
inline void set_script(const char* text) {
  using SetScript = void (*)(const char*, const char*);
  static const SetScript set = [] {
    ::setenv("OPENCL_LAYERS", fault_layer_library(), 1);
    ::setenv("POCL_DEVICES", "pthread pthread", 0);  // one may pretend and the other not
    cl_uint count = 0;
    clGetPlatformIDs(0, nullptr, &count);  // loads the layer
    void* layer = ::dlopen(fault_layer_library(), RTLD_NOW | RTLD_NOLOAD);
    REQUIRE(layer != nullptr);
    return reinterpret_cast<SetScript>(::dlsym(layer, "mgpu_fault_script"));
  }();
  std::filesystem::remove(log_file());
  set(text, log_file().c_str());
}

inline std::vector<std::string> logged() {
  std::ifstream file(log_file());
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

inline cl_platform_id platform() {
  cl_platform_id first = nullptr;
  REQUIRE(clGetPlatformIDs(1, &first, nullptr) == CL_SUCCESS);
  return first;
}

inline cl_device_id device() {
  cl_device_id first = nullptr;
  REQUIRE(clGetDeviceIDs(platform(), CL_DEVICE_TYPE_ALL, 1, &first, nullptr) == CL_SUCCESS);
  return first;
}

inline cl_int status_of(cl_event event) {
  cl_int status = 1;
  REQUIRE(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status,
                         nullptr) == CL_SUCCESS);
  return status;
}

// Returns CL_SUCCESS and sets the stamp, or returns the reason why there is none.
inline cl_int stamp_of(cl_event event, cl_profiling_info what, cl_ulong& stamp) {
  return clGetEventProfilingInfo(event, what, sizeof stamp, &stamp, nullptr);
}

// A context, a queue, a buffer full of ones, and a kernel that adds one to every byte, all set up
// before the script begins.
struct Rig {
  explicit Rig(const char* text) {
    set_script("");
    cl_device_id own = device();
    context = clCreateContext(nullptr, 1, &own, nullptr, nullptr, nullptr);
    queue = clCreateCommandQueue(context, own, CL_QUEUE_PROFILING_ENABLE, nullptr);
    buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, kSize, nullptr, nullptr);
    const char* source = "kernel void add_one(global uchar* b) { b[get_global_id(0)] += 1; }";
    cl_program program = clCreateProgramWithSource(context, 1, &source, nullptr, nullptr);
    REQUIRE(clBuildProgram(program, 1, &own, "", nullptr, nullptr) == CL_SUCCESS);
    kernel = clCreateKernel(program, "add_one", nullptr);
    REQUIRE(clSetKernelArg(kernel, 0, sizeof buffer, &buffer) == CL_SUCCESS);
    const Bytes ones(kSize, 1);
    REQUIRE(upload(ones) == CL_SUCCESS);
    set_script(text);
  }
  // Nothing is released: some of it is meant to hang.
  cl_int upload(const Bytes& from, cl_event* event = nullptr) const {
    return clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, kSize, from.data(), 0, nullptr, event);
  }
  cl_int launch(cl_event* event = nullptr) const {
    return clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &kSize, nullptr, 0, nullptr, event);
  }
  // Launches the kernel and checks that the launch is accepted.
  cl_event launched() const {
    cl_event event = nullptr;
    REQUIRE(launch(&event) == CL_SUCCESS);
    return event;
  }
  Bytes download() const {
    Bytes to(kSize);
    REQUIRE(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, kSize, to.data(), 0, nullptr, nullptr) ==
            CL_SUCCESS);
    return to;
  }

  cl_context context;
  cl_command_queue queue;
  cl_mem buffer;
  cl_kernel kernel;
};

}  // namespace mgpu::test
