#include "tests/profile_layer/program.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>

namespace program {
namespace {

constexpr const char* kSource = R"(
kernel void scale(global uint* a) { a[get_global_id(0)] = a[get_global_id(0)] * 3 + 1; }
kernel void combine(global uint* a, global const uint* b) {
  a[get_global_id(0)] ^= b[get_global_id(0)] + get_global_id(0);
}
kernel void slow(global uint* a) {
  uint x = a[get_global_id(0)];
  for (uint i = 0; i < 200000; ++i) x = x * 3 + 1;
  a[get_global_id(0)] = x;
}
)";

using Numbers = std::array<std::uint32_t, kItems>;
constexpr std::size_t kBytes = sizeof(Numbers);

cl_mem make_buffer(const Place& place, cl_mem_flags flags = CL_MEM_READ_WRITE,
                   void* host = nullptr) {
  return clCreateBuffer(place.context, flags, kBytes, host, nullptr);
}

}  // namespace

Place::Place(cl_uint most_devices) {
  cl_platform_id platform = nullptr;
  clGetPlatformIDs(1, &platform, nullptr);
  cl_uint count = 0;
  clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count);
  devices.resize(std::min(count, most_devices));
  clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, static_cast<cl_uint>(devices.size()), devices.data(),
                 nullptr);
  context = clCreateContext(nullptr, static_cast<cl_uint>(devices.size()), devices.data(), nullptr,
                            nullptr, nullptr);
  const char* source = kSource;
  program = clCreateProgramWithSource(context, 1, &source, nullptr, nullptr);
  if (clBuildProgram(program, 0, nullptr, "", nullptr, nullptr) != CL_SUCCESS) {
    std::fprintf(stderr, "program: cannot build its kernels\n");
    std::exit(1);
  }
}

cl_kernel Place::kernel(const char* name) const { return clCreateKernel(program, name, nullptr); }

cl_command_queue make_queue(const Place& place, cl_device_id device,
                            cl_command_queue_properties properties) {
  return clCreateCommandQueue(place.context, device, properties, nullptr);
}

cl_int launch(cl_command_queue queue, cl_kernel kernel, cl_uint waits, const cl_event* list,
              cl_event* event) {
  const std::size_t local = 64;  // always the same: drivers compile a kernel for each
  return clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &kItems, &local, waits, list, event);
}

namespace {

void CL_CALLBACK count_context(cl_context, void* count) {
  ++*static_cast<std::atomic<int>*>(count);
}
void CL_CALLBACK count_memory(cl_mem, void* count) { ++*static_cast<std::atomic<int>*>(count); }
void CL_CALLBACK add_one(void* arguments) {
  auto& numbers = **static_cast<std::uint32_t**>(arguments);
  ++numbers;
}

// Prints a query's result and answer.
template <class Value, class Query, class Handle>
void ask(Report& report, const char* name, Query query, Handle handle, cl_uint what) {
  Value value{};
  std::size_t size = 0;
  const cl_int code = query(handle, what, sizeof value, &value, &size);
  report.line(name, " ", code, " ", size, " ", static_cast<std::uint64_t>(value));
}

// What the program is told about queues and events, with and without profiling.
void queue_facts(Report& report, const Place& place, cl_mem buffer) {
  const cl_queue_properties empty[] = {0},
                            profiling[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0},
                            out_of_order[] = {CL_QUEUE_PROPERTIES,
                                              CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 0};
  for (const cl_queue_properties* list :
       {static_cast<const cl_queue_properties*>(nullptr), empty, profiling, out_of_order}) {
    cl_int code = 1;
    cl_command_queue queue =
        clCreateCommandQueueWithProperties(place.context, place.devices[0], list, &code);
    report.noted("queue", code);
    ask<cl_command_queue_properties>(report, "properties", clGetCommandQueueInfo, queue,
                                     CL_QUEUE_PROPERTIES);
    cl_queue_properties told[8] = {9, 9, 9, 9};
    std::size_t size = 0;
    report.noted("list",
                 clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES_ARRAY, sizeof told, told, &size));
    report.line(size, " ", told[0], " ", told[1], " ", told[2], " ", told[3]);
    cl_event gate = clCreateUserEvent(place.context, nullptr), event = nullptr;
    cl_kernel kernel = place.kernel("scale");
    clSetKernelArg(kernel, 0, sizeof buffer, &buffer);
    launch(queue, kernel, 1, &gate, &event);
    launch(queue, kernel, 1, &gate);
    ask<cl_uint>(report, "event waits", clGetEventInfo, event, CL_EVENT_REFERENCE_COUNT);
    ask<cl_uint>(report, "queue waits", clGetCommandQueueInfo, queue, CL_QUEUE_REFERENCE_COUNT);
    ask<cl_uint>(report, "buffer waits", clGetMemObjectInfo, buffer, CL_MEM_REFERENCE_COUNT);
    ask<cl_uint>(report, "kernel waits", clGetKernelInfo, kernel, CL_KERNEL_REFERENCE_COUNT);
    ask<cl_uint>(report, "context waits", clGetContextInfo, place.context,
                 CL_CONTEXT_REFERENCE_COUNT);
    ask<cl_ulong>(report, "incomplete", clGetEventProfilingInfo, event, CL_PROFILING_COMMAND_END);
    clRetainEvent(event);
    ask<cl_uint>(report, "event retained", clGetEventInfo, event, CL_EVENT_REFERENCE_COUNT);
    clReleaseEvent(event);
    report.noted("open", clSetUserEventStatus(gate, CL_COMPLETE));
    report.noted("finish", clFinish(queue));
    report.line("event ", references(clGetEventInfo, event, CL_EVENT_REFERENCE_COUNT));
    report.line("queue ", references(clGetCommandQueueInfo, queue, CL_QUEUE_REFERENCE_COUNT));
    report.line("buffer ", references(clGetMemObjectInfo, buffer, CL_MEM_REFERENCE_COUNT));
    report.line("kernel ", references(clGetKernelInfo, kernel, CL_KERNEL_REFERENCE_COUNT));
    report.line("context ",
                references(clGetContextInfo, place.context, CL_CONTEXT_REFERENCE_COUNT));
    for (const cl_profiling_info what : {CL_PROFILING_COMMAND_QUEUED, CL_PROFILING_COMMAND_END}) {
      cl_ulong stamp = 0;
      report.noted("stamp", clGetEventProfilingInfo(event, what, sizeof stamp, &stamp, nullptr));
      report.line(stamp != 0);
    }
    cl_ulong stamp = 0;
    report.noted("no such stamp", clGetEventProfilingInfo(event, 1, sizeof stamp, &stamp, nullptr));
    report.noted("user event's stamp", clGetEventProfilingInfo(gate, CL_PROFILING_COMMAND_END,
                                                               sizeof stamp, &stamp, nullptr));
    cl_command_queue its = nullptr;
    clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof its, &its, nullptr);
    report.line("same queue ", its == queue);
    clReleaseEvent(event);
    clReleaseEvent(gate);
    clReleaseKernel(kernel);
    report.line("queue without event ",
                references(clGetCommandQueueInfo, queue, CL_QUEUE_REFERENCE_COUNT));
    cl_event late = nullptr;
    clEnqueueMarkerWithWaitList(queue, 0, nullptr, &late);
    clFinish(queue);
    clRetainCommandQueue(queue);
    clReleaseCommandQueue(queue);
    report.noted("release", clReleaseCommandQueue(queue));
    report.noted(
        "stamp of a released queue's command",
        clGetEventProfilingInfo(late, CL_PROFILING_COMMAND_END, sizeof stamp, &stamp, nullptr));
    clReleaseEvent(late);
    report.line("context without queue ",
                references(clGetContextInfo, place.context, CL_CONTEXT_REFERENCE_COUNT));
  }
  cl_command_queue old_form = make_queue(place, place.devices[0], 0);
  ask<cl_command_queue_properties>(report, "properties", clGetCommandQueueInfo, old_form,
                                   CL_QUEUE_PROPERTIES);
  cl_queue_properties told[8] = {};
  std::size_t size = 77;
  report.noted(
      "list", clGetCommandQueueInfo(old_form, CL_QUEUE_PROPERTIES_ARRAY, sizeof told, told, &size));
  report.line(size);
  clReleaseCommandQueue(old_form);
}

// Every kind of command that the device can execute, in one queue.
void command_facts(Report& report, const Place& place) {
  cl_device_id device = place.devices[0];
  cl_command_queue queue = make_queue(place, device, 0);
  Numbers host{}, other{};
  for (std::size_t i = 0; i < kItems; ++i) host[i] = static_cast<std::uint32_t>(i);
  cl_mem a = make_buffer(place, CL_MEM_COPY_HOST_PTR, host.data()),
         b = make_buffer(place, CL_MEM_COPY_HOST_PTR, other.data());
  cl_event first = nullptr, second = nullptr;
  report.noted("write", clEnqueueWriteBuffer(queue, a, CL_FALSE, 0, kBytes, host.data(), 0, nullptr,
                                             &first));
  report.noted("copy", clEnqueueCopyBuffer(queue, a, b, 16, 32, 64, 1, &first, &second));
  const std::uint32_t pattern = 7;
  report.noted("fill", clEnqueueFillBuffer(queue, b, &pattern, 4, 512, 256, 0, nullptr, nullptr));
  const std::size_t origin[] = {4, 1, 0}, zero[] = {0, 0, 0}, region[] = {16, 4, 1};
  report.noted("write rect", clEnqueueWriteBufferRect(queue, b, CL_FALSE, origin, zero, region, 64,
                                                      0, 16, 0, host.data(), 0, nullptr, nullptr));
  report.noted("copy rect", clEnqueueCopyBufferRect(queue, b, a, origin, zero, region, 64, 0, 64, 0,
                                                    0, nullptr, nullptr));
  report.noted("read rect", clEnqueueReadBufferRect(queue, a, CL_TRUE, zero, zero, region, 64, 0,
                                                    16, 0, other.data(), 0, nullptr, nullptr));
  cl_kernel kernel = place.kernel("combine");
  clSetKernelArg(kernel, 0, sizeof a, &a);
  clSetKernelArg(kernel, 1, sizeof b, &b);
  const cl_event both[] = {first, second};
  report.noted("kernel", launch(queue, kernel, 2, both));
  report.noted("task", clEnqueueTask(queue, kernel, 0, nullptr, nullptr));
  report.noted("migrate", clEnqueueMigrateMemObjects(queue, 1, &a, 0, 0, nullptr, nullptr));
  report.noted("marker", clEnqueueMarkerWithWaitList(queue, 1, &first, nullptr));
  report.noted("barrier", clEnqueueBarrierWithWaitList(queue, 0, nullptr, nullptr));
  cl_event old_marker = nullptr;
  report.noted("old marker", clEnqueueMarker(queue, &old_marker));
  report.noted("old barrier", clEnqueueBarrier(queue));
  std::uint32_t called = 41;
  std::uint32_t* argument = &called;
  report.noted("native", clEnqueueNativeKernel(queue, add_one, &argument, sizeof argument, 0,
                                               nullptr, nullptr, 0, nullptr, nullptr));
  clFinish(queue);
  report.line("called ", called);

  cl_int code = 1;
  auto* mapped = static_cast<std::uint32_t*>(clEnqueueMapBuffer(
      queue, a, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 64, 128, 0, nullptr, nullptr, &code));
  report.noted("map", code);
  // Copies between a buffer and mapped memory, which is pinned, and the middle of other memory.
  report.noted("read into mapped",
               clEnqueueReadBuffer(queue, b, CL_TRUE, 0, 64, mapped + 16, 0, nullptr, nullptr));
  report.noted("unmap", clEnqueueUnmapMemObject(queue, a, mapped, 0, nullptr, nullptr));
  clFinish(queue);
  report.noted("read",
               clEnqueueReadBuffer(queue, a, CL_TRUE, 0, kBytes, host.data(), 0, nullptr, nullptr));
  std::uint64_t sum = 0;
  for (const std::uint32_t number : host) sum = sum * 31 + number;
  report.line("a ", sum);

  Numbers in_place{};
  cl_mem use = make_buffer(place, CL_MEM_USE_HOST_PTR, in_place.data());
  report.noted(
      "read into used memory",
      clEnqueueReadBuffer(queue, b, CL_TRUE, 0, 64, in_place.data() + 8, 0, nullptr, nullptr));
  report.line("use ", references(clGetMemObjectInfo, use, CL_MEM_REFERENCE_COUNT));

  const cl_image_format format{CL_RGBA, CL_UNSIGNED_INT32};
  cl_image_desc form{};
  form.image_type = CL_MEM_OBJECT_IMAGE2D;
  form.image_width = 8;
  form.image_height = 4;
  cl_mem image = clCreateImage(place.context, CL_MEM_READ_WRITE, &format, &form, nullptr, &code);
  report.noted("image", code);
  const std::size_t all[] = {8, 4, 1};
  const cl_uint colour[4] = {1, 2, 3, 4};
  report.noted("fill image",
               clEnqueueFillImage(queue, image, colour, zero, all, 0, nullptr, nullptr));
  report.noted("write image", clEnqueueWriteImage(queue, image, CL_FALSE, zero, zero + 0, 0, 0,
                                                  host.data(), 0, nullptr, nullptr));
  const std::size_t part[] = {4, 2, 1};
  report.noted("write image", clEnqueueWriteImage(queue, image, CL_TRUE, zero, part, 0, 0,
                                                  host.data(), 0, nullptr, nullptr));
  report.noted("image to buffer",
               clEnqueueCopyImageToBuffer(queue, image, b, zero, part, 0, 0, nullptr, nullptr));
  report.noted("buffer to image",
               clEnqueueCopyBufferToImage(queue, b, image, 0, zero, part, 0, nullptr, nullptr));
  report.noted("read image", clEnqueueReadImage(queue, image, CL_TRUE, zero, all, 0, 0,
                                                other.data(), 0, nullptr, nullptr));
  std::size_t row = 0, slice = 0;
  void* pixels = clEnqueueMapImage(queue, image, CL_TRUE, CL_MAP_READ, zero, part, &row, &slice, 0,
                                   nullptr, nullptr, &code);
  report.noted("map image", code);
  report.noted("unmap image", clEnqueueUnmapMemObject(queue, image, pixels, 0, nullptr, nullptr));
  sum = 0;
  for (const std::uint32_t number : other) sum = sum * 31 + number;
  report.line("image ", sum, " row ", row);

  auto* svm = static_cast<std::uint32_t*>(clSVMAlloc(place.context, CL_MEM_READ_WRITE, kBytes, 0));
  report.line("svm ", svm != nullptr);
  report.noted("svm fill",
               clEnqueueSVMMemFill(queue, svm, &pattern, 4, kBytes, 0, nullptr, nullptr));
  report.noted("svm argument", clSetKernelArgSVMPointer(kernel, 1, svm));
  report.noted("kernel", launch(queue, kernel));
  report.noted("svm copy",
               clEnqueueSVMMemcpy(queue, CL_TRUE, other.data(), svm, 64, 0, nullptr, nullptr));
  report.noted("svm map",
               clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_READ, svm, kBytes, 0, nullptr, nullptr));
  report.noted("read into svm",
               clEnqueueReadBuffer(queue, b, CL_TRUE, 0, 64, svm + 16, 0, nullptr, nullptr));
  report.noted("svm unmap", clEnqueueSVMUnmap(queue, svm, 0, nullptr, nullptr));
  void* to_free = svm;
  report.noted("svm free",
               clEnqueueSVMFree(queue, 1, &to_free, nullptr, nullptr, 0, nullptr, nullptr));
  clFinish(queue);
  report.line("other ", other[0], " ", other[15]);

  report.line("extension ",
              clGetExtensionFunctionAddressForPlatform(nullptr, "clNoSuchFunction") == nullptr);
  for (cl_event event : {first, second, old_marker}) clReleaseEvent(event);
  for (cl_mem memory : {a, b, use, image}) report.noted("release", clReleaseMemObject(memory));
  report.noted("release", clReleaseKernel(kernel));
  report.noted("release", clReleaseCommandQueue(queue));
}

void part_of_device_facts(Report& report) {
  Place whole(1);
  const cl_device_partition_property parts[] = {CL_DEVICE_PARTITION_EQUALLY, 1, 0};
  cl_device_id part = nullptr;
  cl_uint count = 0;
  report.noted("partition", clCreateSubDevices(whole.devices[0], parts, 0, nullptr, &count));
  std::vector<cl_device_id> all(count);
  report.noted("partition", clCreateSubDevices(whole.devices[0], parts, count, all.data(), &count));
  part = all.at(0);
  cl_context context = clCreateContext(nullptr, 1, &part, nullptr, nullptr, nullptr);
  cl_command_queue queue = clCreateCommandQueue(context, part, 0, nullptr);
  report.noted("marker", clEnqueueMarkerWithWaitList(queue, 0, nullptr, nullptr));
  report.noted("finish", clFinish(queue));
  clReleaseCommandQueue(queue);
  clReleaseContext(context);
  for (cl_device_id each : all) report.noted("release", clReleaseDevice(each));
}

}  // namespace

template <class Query, class Handle>
cl_uint references(Query query, Handle handle, cl_uint what) {
  cl_uint last = 0;
  for (int same = 0, tries = 0; same < 3 && tries < 200; ++tries) {
    cl_uint now = 0;
    query(handle, what, sizeof now, &now, nullptr);
    same = now == last ? same + 1 : 0;
    last = now;
    ::usleep(500);
  }
  return last;
}
template cl_uint references(decltype(&clGetEventInfo), cl_event, cl_uint);
template cl_uint references(decltype(&clGetCommandQueueInfo), cl_command_queue, cl_uint);
template cl_uint references(decltype(&clGetMemObjectInfo), cl_mem, cl_uint);
template cl_uint references(decltype(&clGetKernelInfo), cl_kernel, cl_uint);
template cl_uint references(decltype(&clGetProgramInfo), cl_program, cl_uint);
template cl_uint references(decltype(&clGetContextInfo), cl_context, cl_uint);

void facts(Report& report) {
  std::atomic<int> contexts_gone{0}, memory_gone{0};
  {
    Place place(1);
    cl_mem buffer = make_buffer(place);
    report.noted("callback", clSetMemObjectDestructorCallback(buffer, count_memory, &memory_gone));
    report.noted("callback",
                 clSetContextDestructorCallback(place.context, count_context, &contexts_gone));
    queue_facts(report, place, buffer);
    command_facts(report, place);
    clReleaseMemObject(buffer);
    report.line("buffers gone ", memory_gone.load());
    report.line("program ",
                references(clGetProgramInfo, place.program, CL_PROGRAM_REFERENCE_COUNT));
    clReleaseProgram(place.program);
    report.line("context ",
                references(clGetContextInfo, place.context, CL_CONTEXT_REFERENCE_COUNT));
    clReleaseContext(place.context);
    report.line("contexts gone ", contexts_gone.load());
  }
  part_of_device_facts(report);
}

namespace {

// Has `count` + 1 kernels completed, and one running. Nothing is ever released.
void work(const Place& place, cl_command_queue queue, int count) {
  cl_mem buffer = make_buffer(place);
  cl_kernel kernel = place.kernel("scale"), slow = place.kernel("slow");
  clSetKernelArg(kernel, 0, sizeof buffer, &buffer);
  clSetKernelArg(slow, 0, sizeof buffer, &buffer);
  for (int k = 0; k < count; ++k) launch(queue, kernel);
  launch(queue, slow);  // a driver that compiles it when the process exits may fail
  clFinish(queue);
  ::usleep(50'000);  // by then the log has them
  launch(queue, slow);
  clFlush(queue);
}

// Uses OpenCL when the process exits.
struct AtExit {
  ~AtExit() {
    if (queue == nullptr) return;
    clEnqueueMarkerWithWaitList(queue, 0, nullptr, nullptr);
    clFinish(queue);
  }
  cl_command_queue queue = nullptr;
};

int end(std::string_view how) {
  static AtExit at_exit;  // before the first call, so that it is destroyed late
  const Place place(1);
  work(place, make_queue(place, place.devices[0], 0), 10);
  std::printf("the end: %s\n", std::string(how).c_str());
  std::fflush(stdout);
  if (how == "exit") std::exit(3);
  if (how == "_exit") ::_exit(4);
  if (how == "abort") std::abort();
  if (how == "kill") ::raise(SIGKILL);
  if (how == "incomplete") {  // a command that never completes, and then an exit
    cl_event gate = clCreateUserEvent(place.context, nullptr);
    clEnqueueMarkerWithWaitList(make_queue(place, place.devices[0], 0), 1, &gate, nullptr);
    return 5;
  }
  if (how == "late") at_exit.queue = make_queue(place, place.devices[0], 0);
  return 6;
}

// The child uses OpenCL, and so does the parent before and after.
int fork_a_child(bool before) {
  if (before) {
    const Place place(1);
    work(place, make_queue(place, place.devices[0], 0), 3);
  }
  const pid_t child = ::fork();
  if (child == 0) {
    if (!before) {
      const Place place(1);
      work(place, make_queue(place, place.devices[0], 0), 4);
      ::usleep(50'000);
    } else {  // of what the driver has left in a child, this much is safe
      cl_uint count = 0;
      clGetPlatformIDs(0, nullptr, &count);
      ::usleep(50'000);
    }
    std::exit(7);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  const Place place(1);
  work(place, make_queue(place, place.devices[0], 0), 5);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

// Closes all files that it did not open, and writes to one that may get the same number.
int close_files(const char* path) {
  const Place place(1);
  cl_command_queue queue = make_queue(place, place.devices[0], 0);
  work(place, queue, 2);
  for (int file = 3; file < 1024; ++file) ::close(file);
  std::vector<int> own;
  for (int file = 3; file < 600; ++file)
    own.push_back(::open(path, O_WRONLY | O_CREAT | O_APPEND, 0644));
  work(place, queue, 4);
  clFinish(queue);
  ::usleep(50'000);
  return 0;
}

// More commands than the layer waits for, none of which can run.
int pile_up(int count) {
  const Place place(1);
  cl_command_queue queue = make_queue(place, place.devices[0], 0);
  cl_event gate = clCreateUserEvent(place.context, nullptr);
  clEnqueueBarrierWithWaitList(queue, 1, &gate, nullptr);
  for (int k = 0; k < count; ++k) clEnqueueMarkerWithWaitList(queue, 0, nullptr, nullptr);
  clFlush(queue);
  ::usleep(300'000);
  std::fflush(stdout);
  ::_exit(0);
}

// Prints the time stamps of its own events.
int print_stamps() {
  const Place place(1);
  cl_command_queue queue = make_queue(place, place.devices[0], CL_QUEUE_PROFILING_ENABLE);
  cl_mem buffer = make_buffer(place);
  cl_kernel kernel = place.kernel("scale");
  clSetKernelArg(kernel, 0, sizeof buffer, &buffer);
  for (int k = 0; k < 20; ++k) {
    cl_event event = nullptr;
    launch(queue, kernel, 0, nullptr, &event);
    clWaitForEvents(1, &event);
    for (const cl_profiling_info what : {CL_PROFILING_COMMAND_QUEUED, CL_PROFILING_COMMAND_SUBMIT,
                                         CL_PROFILING_COMMAND_START, CL_PROFILING_COMMAND_END}) {
      cl_ulong stamp = 0;
      clGetEventProfilingInfo(event, what, sizeof stamp, &stamp, nullptr);
      std::printf("%llu ", static_cast<unsigned long long>(stamp));
    }
    std::printf("\n");
    clReleaseEvent(event);
  }
  return 0;
}

// Two threads: one completes the user event for which the other's commands wait.
int threads() {
  const Place place(1);
  cl_command_queue queue =
      make_queue(place, place.devices[0], CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  cl_mem buffer = make_buffer(place);
  cl_kernel kernel = place.kernel("scale");
  clSetKernelArg(kernel, 0, sizeof buffer, &buffer);
  cl_event gate = clCreateUserEvent(place.context, nullptr), first = nullptr, second = nullptr;
  launch(queue, kernel, 1, &gate, &first);
  const cl_event both[] = {first, gate};
  launch(queue, kernel, 2, both, &second);
  clFlush(queue);
  std::thread other([&] {
    ::usleep(20'000);
    clSetUserEventStatus(gate, CL_COMPLETE);
  });
  clWaitForEvents(1, &second);
  other.join();
  return 0;
}

// Prints how many of 40 contexts were gone as soon as they were released, a while after their only
// command was complete.
int gone_contexts() {
  const Place place(1);
  int gone_at_once = 0;
  std::atomic<int> gone{0};
  for (int c = 0; c < 40; ++c) {
    cl_context context =
        clCreateContext(nullptr, 1, place.devices.data(), nullptr, nullptr, nullptr);
    cl_command_queue queue = clCreateCommandQueue(context, place.devices[0], 0, nullptr);
    clSetContextDestructorCallback(context, count_context, &gone);
    clEnqueueMarkerWithWaitList(queue, 0, nullptr, nullptr);
    clFinish(queue);
    ::usleep(300);
    clReleaseCommandQueue(queue);
    const int before = gone;
    clReleaseContext(context);
    gone_at_once += gone > before;
    while (gone == before) ::usleep(100);
  }
  std::printf("%d\n", gone_at_once);
  return 0;
}

int random_programs(std::uint64_t first, int count) {
  for (int k = 0; k < count; ++k) {
    Report report;
    random_program(first + static_cast<std::uint64_t>(k), report);
    std::printf("program %llu\n%s", static_cast<unsigned long long>(first) + k,
                report.text().c_str());
  }
  return 0;
}

}  // namespace
}  // namespace program

int main(int count, char** words) {
  const std::vector<std::string> given(words + 1, words + count);
  const std::string mode = given.empty() ? "" : given[0];
  const auto word = [&](std::size_t at) {
    return given.size() > at ? given[at] : std::string("1");
  };
  if (mode == "facts") {
    program::Report report;
    program::facts(report);
    std::fputs(report.text().c_str(), stdout);
    return 0;
  }
  if (mode == "random") return program::random_programs(std::stoull(word(1)), std::stoi(word(2)));
  if (mode == "end") return program::end(word(1));
  if (mode == "fork") return program::fork_a_child(word(1) == "after");
  if (mode == "exec") {
    cl_uint platforms = 0;
    clGetPlatformIDs(0, nullptr, &platforms);
    ::execl(words[0], words[0], "end", "return", nullptr);
  }
  if (mode == "close") return program::close_files(word(1).c_str());
  if (mode == "pile") return program::pile_up(std::stoi(word(1)));
  if (mode == "stamps") return program::print_stamps();
  if (mode == "gone") return program::gone_contexts();
  if (mode == "threads") return program::threads();
  std::fprintf(stderr, "usage: program facts|random SEED COUNT|end HOW|fork before|after|...\n");
  return 2;
}
