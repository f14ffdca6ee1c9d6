// A program of OpenCL as others write them, which tests run with and without the profiling layer.
// It prints all that a program can notice: return codes, answers of queries, and results.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/layer/opencl.hpp"

namespace program {

// Text that a thread of the program prints at its end.
class Report {
 public:
  template <class... Parts>
  void line(const Parts&... parts) {
    ((text_ += printed(parts)), ...);
    text_ += '\n';
  }
  // Notes the result of a call and returns it.
  cl_int noted(const char* call, cl_int code) {
    line(call, " ", code);
    return code;
  }
  const std::string& text() const { return text_; }

 private:
  static std::string printed(const char* part) { return part; }
  static std::string printed(const std::string& part) { return part; }
  template <class Number>
  static std::string printed(Number part) {
    return std::to_string(part);
  }
  std::string text_;
};

inline constexpr std::size_t kItems = 256;  // of a buffer; 4 bytes each

// A context with devices, and kernels for buffers of kItems numbers: scale (a = a * 3 + 1),
// combine (a = a ^ b + i), and slow (takes a while, then as scale).
struct Place {
  explicit Place(cl_uint most_devices);
  cl_kernel kernel(const char* name) const;

  std::vector<cl_device_id> devices;
  cl_context context = nullptr;
  cl_program program = nullptr;
};

cl_command_queue make_queue(const Place& place, cl_device_id device,
                            cl_command_queue_properties properties);
cl_int launch(cl_command_queue queue, cl_kernel kernel, cl_uint waits = 0,
              const cl_event* list = nullptr, cl_event* event = nullptr);

// Returns the number of references of an object once nothing but the program holds any: drivers
// give theirs back some time after a command is complete.
template <class Query, class Handle>
cl_uint references(Query query, Handle handle, cl_uint what);

// The parts of the program.
void random_program(std::uint64_t seed, Report& report);
void facts(Report& report);

}  // namespace program
