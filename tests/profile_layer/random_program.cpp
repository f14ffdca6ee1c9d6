// Random programs over the API. The order of commands on each buffer is fixed by events, so that
// the result is the same however devices schedule them.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <memory>
#include <random>
#include <thread>
#include <utility>

#include "tests/profile_layer/program.hpp"

namespace program {
namespace {

using Numbers = std::array<std::uint32_t, kItems>;

// A thread's part of a random program: queues, buffers and events of its own in a context that
// others may use as well.
class Actor {
 public:
  Actor(const Place& place, std::uint64_t seed, Report& report)
      : place_(place), random_(seed), report_(report) {
    const auto count = between(1, 3);
    for (std::uint64_t q = 0; q < count; ++q) {
      cl_command_queue_properties properties = 0;
      if (chance(2)) properties |= CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
      if (chance(2)) properties |= CL_QUEUE_PROFILING_ENABLE;
      cl_device_id device = place.devices[between(0, place.devices.size() - 1)];
      queues_.push_back(queue(device, properties));
    }
    for (auto& kernel : kernels_) kernel = place.kernel("scale");
    combine_ = place.kernel("combine");
    const auto buffers = between(2, 4);
    for (std::uint64_t b = 0; b < buffers; ++b) {
      cl_mem_flags flags = CL_MEM_READ_WRITE;
      Numbers start;
      for (auto& number : start) number = static_cast<std::uint32_t>(random_());
      const bool in_place = chance(4);
      auto& memory = remembered(start);
      flags |= in_place ? CL_MEM_USE_HOST_PTR : CL_MEM_COPY_HOST_PTR;
      if (!in_place && chance(3)) flags |= CL_MEM_ALLOC_HOST_PTR;
      cl_int code = 1;
      buffers_.push_back(
          {clCreateBuffer(place.context, flags, sizeof start, memory.data(), &code), {}});
      report_.noted("create buffer", code);
    }
  }

  void act() {
    const auto steps = between(10, 40);
    for (std::uint64_t step = 0; step < steps; ++step) one();
    open_gate();
    for (cl_command_queue each : queues_) report_.noted("finish", clFinish(each));
    for (std::size_t b = 0; b < buffers_.size(); ++b) {
      Numbers result{};
      // By a queue that the driver has not necessarily used for it.
      const cl_int code = clEnqueueReadBuffer(any_queue(), buffers_[b].memory, CL_TRUE, 0,
                                              sizeof result, result.data(), 0, nullptr, nullptr);
      report_.line("buffer ", b, " ", code, " ", digest(result));
    }
    for (const auto& [numbers, name] : results_) report_.line(name, " ", digest(*numbers));
    report_.line("callbacks ", wait_for_callbacks());
    release();
  }

 private:
  struct Buffer {
    cl_mem memory;
    std::vector<cl_event> last;  // the next command on it waits for these
  };

  std::uint64_t between(std::uint64_t low, std::uint64_t high) {
    return low + random_() % (high - low + 1);
  }
  bool chance(unsigned one_in) { return random_() % one_in == 0; }
  cl_command_queue any_queue() { return queues_[between(0, queues_.size() - 1)]; }
  Buffer& any_buffer() { return buffers_[between(0, buffers_.size() - 1)]; }
  static std::uint64_t digest(const Numbers& numbers) {
    std::uint64_t sum = 14695981039346656037u;
    for (const std::uint32_t number : numbers) sum = (sum ^ number) * 1099511628211u;
    return sum;
  }
  // Host memory that stays until the end, as commands may use it at any time.
  Numbers& remembered(const Numbers& numbers) {
    memory_.push_back(numbers);
    return memory_.back();
  }

  cl_command_queue queue(cl_device_id device, cl_command_queue_properties properties) {
    cl_int code = 1;
    cl_command_queue made = nullptr;
    if (chance(2)) {
      made = clCreateCommandQueue(place_.context, device, properties, &code);
    } else {
      const cl_queue_properties list[] = {CL_QUEUE_PROPERTIES, properties, 0};
      made = clCreateCommandQueueWithProperties(
          place_.context, device, properties == 0 && chance(2) ? nullptr : list, &code);
    }
    report_.noted("create queue", code);
    return made;
  }

  // Enqueues a command that uses these buffers, after all others on them, by
  // `call(queue, waits, list, event)`, with or without an event.
  template <class Call>
  void enqueue(const char* name, std::vector<Buffer*> used, const Call& call) {
    cl_command_queue to = any_queue();
    std::vector<cl_event> waits;
    for (const Buffer* buffer : used)
      waits.insert(waits.end(), buffer->last.begin(), buffer->last.end());
    if (gate_ != nullptr && chance(3)) waits.push_back(gate_);
    cl_event made = nullptr;
    const cl_int code =
        call(to, static_cast<cl_uint>(waits.size()), waits.empty() ? nullptr : waits.data(), &made);
    report_.noted(name, code);
    if (code != CL_SUCCESS) return;
    cl_command_type type = 0;
    report_.line("  type ",
                 clGetEventInfo(made, CL_EVENT_COMMAND_TYPE, sizeof type, &type, nullptr), " ",
                 type);
    for (Buffer* buffer : used) {
      for (cl_event event : buffer->last) clReleaseEvent(event);
      clRetainEvent(made);
      buffer->last = {made};
    }
    if (chance(4)) {
      ++expected_;
      report_.noted("  callback", clSetEventCallback(made, CL_COMPLETE, called, &callbacks_));
    }
    if (chance(6)) check_profiling(made);
    clReleaseEvent(made);
    if (chance(5)) clFlush(to);
  }

  static void CL_CALLBACK called(cl_event, cl_int, void* count) {
    ++*static_cast<std::atomic<int>*>(count);
  }
  int wait_for_callbacks() {  // they may come later than the status
    for (int tries = 0; tries < 2000 && callbacks_ < expected_; ++tries) ::usleep(1000);
    return callbacks_;
  }

  // Whether the time stamps of a command can be had: not if its queue has none.
  void check_profiling(cl_event event) {
    if (gate_ != nullptr) return;  // it may wait for this thread
    flush();
    report_.noted("  wait", clWaitForEvents(1, &event));
    cl_ulong stamp = 0;
    report_.noted("  profiling", clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END,
                                                         sizeof stamp, &stamp, nullptr));
    report_.line("  stamp ", stamp != 0);
  }

  void flush() {
    for (cl_command_queue each : queues_) clFlush(each);
  }

  void one() {
    Buffer& a = any_buffer();
    Buffer& b = any_buffer();
    const bool blocking = gate_ == nullptr && chance(3);
    if (blocking) flush();  // what it waits for may be in another queue
    const std::size_t offset = 4 * between(0, kItems / 2), size = 4 * between(1, kItems / 2);
    switch (between(0, 17)) {
      case 0: {
        Numbers numbers;
        for (auto& number : numbers) number = static_cast<std::uint32_t>(random_());
        const Numbers& from = remembered(numbers);
        enqueue("write", {&a}, [&](auto q, auto n, auto list, auto event) {
          return clEnqueueWriteBuffer(q, a.memory, blocking, offset, size, from.data(), n, list,
                                      event);
        });
        break;
      }
      case 1: {
        Numbers& to = remembered({});
        results_.emplace_back(&to, "read");
        enqueue("read", {&a}, [&](auto q, auto n, auto list, auto event) {
          return clEnqueueReadBuffer(q, a.memory, blocking, offset, size, to.data(), n, list,
                                     event);
        });
        break;
      }
      case 2:
        if (&a == &b) break;
        enqueue("copy", {&a, &b}, [&](auto q, auto n, auto list, auto event) {
          return clEnqueueCopyBuffer(q, a.memory, b.memory, offset, 0, size, n, list, event);
        });
        break;
      case 3: {
        const auto pattern = static_cast<std::uint32_t>(random_());
        enqueue("fill", {&a}, [&](auto q, auto n, auto list, auto event) {
          return clEnqueueFillBuffer(q, a.memory, &pattern, sizeof pattern, offset, size, n, list,
                                     event);
        });
        break;
      }
      case 4:
      case 5: {
        cl_kernel kernel = kernels_[between(0, kernels_.size() - 1)];
        report_.noted("argument", clSetKernelArg(kernel, 0, sizeof a.memory, &a.memory));
        enqueue("scale", {&a}, [&](auto q, auto n, auto list, auto event) {
          return launch(q, kernel, n, list, event);
        });
        break;
      }
      case 6:
      case 7:
        if (&a == &b) break;
        clSetKernelArg(combine_, 0, sizeof a.memory, &a.memory);
        clSetKernelArg(combine_, 1, sizeof b.memory, &b.memory);
        enqueue("combine", {&a, &b}, [&](auto q, auto n, auto list, auto event) {
          return launch(q, combine_, n, list, event);
        });
        break;
      case 8:
        map(a, offset, size);
        break;
      case 9: {
        const std::size_t from[] = {4, 1, 0}, to[] = {0, 0, 0}, region[] = {16, 4, 1};
        Numbers& host = remembered({});
        results_.emplace_back(&host, "read rectangle");
        enqueue("read rectangle", {&a}, [&](auto q, auto n, auto list, auto event) {
          return clEnqueueReadBufferRect(q, a.memory, blocking, from, to, region, 64, 0, 32, 0,
                                         host.data(), n, list, event);
        });
        break;
      }
      case 10: {
        if (&a == &b) break;
        const std::size_t from[] = {4, 1, 0}, to[] = {0, 2, 0}, region[] = {16, 4, 1};
        enqueue("copy rectangle", {&a, &b}, [&](auto q, auto n, auto list, auto event) {
          return clEnqueueCopyBufferRect(q, a.memory, b.memory, from, to, region, 64, 0, 64, 0, n,
                                         list, event);
        });
        break;
      }
      case 11:
        enqueue("migrate", {&a}, [&](auto q, auto n, auto list, auto event) {
          return clEnqueueMigrateMemObjects(q, 1, &a.memory, 0, n, list, event);
        });
        break;
      case 12: {
        const bool barrier = chance(2);
        enqueue(barrier ? "barrier" : "marker", {&a}, [&](auto q, auto n, auto list, auto event) {
          return barrier ? clEnqueueBarrierWithWaitList(q, n, list, event)
                         : clEnqueueMarkerWithWaitList(q, n, list, event);
        });
        break;
      }
      case 13:
        if (gate_ != nullptr) {
          open_gate();
        } else {
          cl_int code = 1;
          gate_ = clCreateUserEvent(place_.context, &code);
          report_.noted("user event", code);
        }
        break;
      case 14:
        if (gate_ == nullptr) report_.noted("finish", clFinish(any_queue()));
        break;
      case 15:
        ask();
        break;
      case 16:
        mistake(a);
        break;
      case 17:
        part(a);
        break;
    }
  }

  void map(Buffer& a, std::size_t offset, std::size_t size) {
    if (gate_ != nullptr) return;
    flush();
    cl_command_queue q = any_queue();
    cl_int code = 1;
    auto* mapped = static_cast<std::uint32_t*>(
        clEnqueueMapBuffer(q, a.memory, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, offset, size,
                           static_cast<cl_uint>(a.last.size()),
                           a.last.empty() ? nullptr : a.last.data(), nullptr, &code));
    report_.noted("map", code);
    if (code != CL_SUCCESS) return;
    for (std::size_t i = 0; i < size / 4; ++i) mapped[i] ^= static_cast<std::uint32_t>(i * 77);
    cl_event made = nullptr;
    report_.noted("unmap", clEnqueueUnmapMemObject(q, a.memory, mapped, 0, nullptr, &made));
    for (cl_event event : a.last) clReleaseEvent(event);
    a.last = {made};
  }

  // Fills a sub-buffer, which is then released.
  void part(Buffer& a) {
    const cl_buffer_region region{kItems * 2, kItems};
    cl_int code = 1;
    cl_mem sub = clCreateSubBuffer(a.memory, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
    report_.noted("sub-buffer", code);
    if (code != CL_SUCCESS) return;
    const std::uint32_t pattern = 0xABCD;
    enqueue("fill part", {&a}, [&](auto q, auto n, auto list, auto event) {
      return clEnqueueFillBuffer(q, sub, &pattern, sizeof pattern, 0, region.size, n, list, event);
    });
    report_.noted("release part", clReleaseMemObject(sub));
  }

  void open_gate() {
    if (gate_ == nullptr) return;
    cl_int code = 1;
    if (chance(2))
      std::thread([&] { code = clSetUserEventStatus(gate_, CL_COMPLETE); }).join();
    else
      code = clSetUserEventStatus(gate_, CL_COMPLETE);
    report_.noted("open", code);
    report_.noted("open again", clSetUserEventStatus(gate_, CL_COMPLETE));
    clReleaseEvent(std::exchange(gate_, nullptr));
  }

  void ask() {
    cl_command_queue q = any_queue();
    cl_command_queue_properties properties = 77;
    std::size_t size = 0;
    cl_int code =
        clGetCommandQueueInfo(q, CL_QUEUE_PROPERTIES, sizeof properties, &properties, &size);
    report_.line("properties ", code, " ", properties, " ", size);
    cl_queue_properties list[8] = {};
    code = clGetCommandQueueInfo(q, CL_QUEUE_PROPERTIES_ARRAY, sizeof list, list, &size);
    report_.line("list ", code, " ", size, " ", list[0], " ", list[1], " ", list[2]);
    report_.noted("too small", clGetCommandQueueInfo(q, CL_QUEUE_PROPERTIES, 1, list, nullptr));
    if (gate_ != nullptr) return;  // references are counted when all is complete
    for (cl_command_queue each : queues_) clFinish(each);
    report_.line("references of a kernel ",
                 references(clGetKernelInfo, combine_, CL_KERNEL_REFERENCE_COUNT));
    for (const Buffer& buffer : buffers_)
      for (cl_event event : buffer.last) {
        cl_int status = 77;
        clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr);
        report_.line("status ", status, ", references ",
                     references(clGetEventInfo, event, CL_EVENT_REFERENCE_COUNT));
      }
  }

  // Calls that the driver refuses.
  void mistake(const Buffer& a) {
    cl_command_queue q = any_queue();
    cl_event event = nullptr;
    Numbers numbers{};
    report_.noted("too large", clEnqueueReadBuffer(q, a.memory, CL_TRUE, 0, 100 * sizeof numbers,
                                                   numbers.data(), 0, nullptr, &event));
    report_.noted("no list", clEnqueueMarkerWithWaitList(q, 3, nullptr, nullptr));
    report_.noted("no queue", clEnqueueMarkerWithWaitList(nullptr, 0, nullptr, nullptr));
    report_.noted("no memory",
                  clEnqueueFillBuffer(q, nullptr, &event, 4, 0, 4, 0, nullptr, nullptr));
    cl_int code = 1;
    report_.line("no map ",
                 clEnqueueMapBuffer(q, a.memory, CL_TRUE, CL_MAP_READ, 0, 100 * sizeof numbers, 0,
                                    nullptr, nullptr, &code) == nullptr,
                 " ", code);
    const std::size_t none = 0;
    report_.noted("no items", clEnqueueNDRangeKernel(q, combine_, 4, nullptr, &none, nullptr, 0,
                                                     nullptr, nullptr));
    const cl_queue_properties wrong[] = {CL_QUEUE_PROPERTIES, cl_queue_properties{1} << 40, 0};
    report_.line("no queue made ",
                 clCreateCommandQueueWithProperties(place_.context, place_.devices[0], wrong,
                                                    &code) == nullptr,
                 " ", code);
  }

  void release() {
    for (Buffer& buffer : buffers_) {
      for (cl_event event : buffer.last) report_.noted("release event", clReleaseEvent(event));
      report_.noted("release buffer", clReleaseMemObject(buffer.memory));
    }
    for (cl_kernel kernel : kernels_) report_.noted("release kernel", clReleaseKernel(kernel));
    report_.noted("release kernel", clReleaseKernel(combine_));
    for (cl_command_queue each : queues_) {
      report_.line("references of a queue ",
                   references(clGetCommandQueueInfo, each, CL_QUEUE_REFERENCE_COUNT));
      report_.noted("release queue", clReleaseCommandQueue(each));
    }
  }

  const Place& place_;
  std::mt19937_64 random_;
  Report& report_;
  std::vector<cl_command_queue> queues_;
  std::vector<Buffer> buffers_;
  std::array<cl_kernel, 2> kernels_{};
  cl_kernel combine_ = nullptr;
  cl_event gate_ = nullptr;
  std::deque<Numbers> memory_;
  std::vector<std::pair<const Numbers*, std::string>> results_;
  std::atomic<int> callbacks_{0};
  int expected_ = 0;
};

}  // namespace

void random_program(std::uint64_t seed, Report& report) {
  std::mt19937_64 random(seed);
  const auto places_count = 1 + random() % 2;
  const auto threads_count = 1 + random() % 3;
  std::vector<std::unique_ptr<Place>> places;
  for (std::uint64_t p = 0; p < places_count; ++p)
    places.push_back(std::make_unique<Place>(1 + static_cast<cl_uint>(random() % 2)));
  std::vector<Report> reports(threads_count);
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < threads_count; ++t) {
    const Place& place = *places[random() % places_count];
    const std::uint64_t own_seed = random();
    threads.emplace_back(
        [&place, own_seed, &own = reports[t]] { Actor(place, own_seed, own).act(); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Report& each : reports) report.line(each.text());
  for (const auto& place : places) {
    report.line("references of a program ",
                references(clGetProgramInfo, place->program, CL_PROGRAM_REFERENCE_COUNT));
    report.noted("release program", clReleaseProgram(place->program));
    report.line("references of a context ",
                references(clGetContextInfo, place->context, CL_CONTEXT_REFERENCE_COUNT));
    report.noted("release context", clReleaseContext(place->context));
  }
}

}  // namespace program
