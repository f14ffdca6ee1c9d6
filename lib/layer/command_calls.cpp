// Calls that enqueue commands.
#include <algorithm>
#include <array>
#include <cstring>

#include "lib/layer/calls.hpp"

namespace mgpu::layer {

using namespace command_log;

namespace {

constexpr std::uint64_t kCostSampling = 61;  // one of so many calls is timed; a prime: no pattern's

// A call that enqueues a command, from its begin until it is recorded.
class Enqueue {
 public:
  // `event` is the program's, or null.
  Enqueue(cl_command_queue queue, cl_uint type, cl_uint waits, const cl_event* list,
          cl_event* event)
      : handle_(queue), asked_(event) {
    ThreadState::add(thread_.calls, 1);
    command_.number = own_.next_number();
    sampled_ = command_.number % kCostSampling == 0;
    if (sampled_) entered_ = now_ns();
    queue_ = own_.handles.find<QueueObject>(queue, Kind::queue);
    command_.type = type;
    command_.wait_count = std::min(waits, kMostWaits);
    if (waits > kMostWaits) command_.flags |= kMoreWaits;
    for (cl_uint w = 0; list != nullptr && w < command_.wait_count; ++w)
      waits_[w] = own_.numbers.get(list[w], command_.number);
    if (list == nullptr) command_.wait_count = 0;
    command_.begin_ns = now_ns();
  }
  // Returns the address for the command's event: the program's, the layer's own, or null.
  cl_event* event() { return asked_ != nullptr ? asked_ : timed() ? &made_ : nullptr; }

  void returned(cl_int status) {
    command_.end_ns = now_ns();
    command_.status = status;
    if (status != CL_SUCCESS) return;
    if (queue_ == nullptr) queue_ = known_queue();
    if (asked_ != nullptr) {
      command_.flags |= kEventAsked;
      own_.numbers.put(*asked_, command_.number);
      if (timed() && next->clRetainEvent(*asked_) == CL_SUCCESS) made_ = *asked_;
    }
    if (made_ != nullptr) command_.flags |= kTimesFollow;
  }

  // Describe what the command does, after it was accepted.

  void blocking(cl_bool is) {
    if (is != CL_FALSE) command_.flags |= kBlocking;
  }
  void bytes(std::size_t count) { command_.bytes = count; }
  void host(const void* pointer) {
    command_.host_pointer = reinterpret_cast<std::uintptr_t>(pointer);
  }
  void uses(std::uint32_t memory, std::uint32_t access, std::uint64_t offset, std::uint64_t size) {
    if (command_.memory_count == kMostMemory)
      command_.flags |= kMoreMemory;
    else
      memory_[command_.memory_count++] = {memory, access, offset, size};
  }
  void reads(cl_mem memory, std::size_t offset, std::size_t size) {
    uses(known_memory(memory).id, 1, offset, size);
  }
  void writes(cl_mem memory, std::size_t offset, std::size_t size) {
    uses(known_memory(memory).id, 2, offset, size);
  }
  void no_wait_list() { command_.flags |= kNoWaitList; }
  void kernel(cl_kernel handle, cl_uint dimensions, const std::size_t* offset,
              const std::size_t* global, const std::size_t* local) {
    KernelObject& object = known_kernel(handle);
    command_.kernel = object.id;
    command_.dimensions = static_cast<std::uint8_t>(std::min(dimensions, 3u));
    std::uint64_t* to = sizes_.data();
    for (const std::size_t* from : {offset, global, local})
      for (cl_uint d = 0; d < command_.dimensions; ++d) *to++ = from != nullptr ? from[d] : 0;
    const cl_uint end = object.end.load(std::memory_order_relaxed);
    for (cl_uint a = 0; a < std::min(end, KernelObject::kArguments); ++a) {
      const std::uint64_t memory = object.memory[a].load(std::memory_order_relaxed);
      if (memory != 0)
        uses(static_cast<std::uint32_t>(memory), static_cast<std::uint32_t>(memory >> 32), 0, 0);
    }
    if (end > KernelObject::kArguments) command_.flags |= kMoreMemory;
  }

  void record() {
    command_.queue = queue_ != nullptr ? queue_->id : 0;
    command_.thread = thread_.id;
    own_.push(Kind::command, command_,
              {bytes_of(sizes_.data(), command_.dimensions * std::size_t{3}),
               bytes_of(waits_.data(), command_.wait_count),
               bytes_of(memory_.data(), command_.memory_count)},
              made_, queue_ != nullptr && queue_->in_order ? kInOrder : EntryFlags{});
    if (!sampled_) return;
    const std::uint64_t cost = now_ns() - entered_ - (command_.end_ns - command_.begin_ns);
    ThreadState::add(thread_.layer_ns, cost * kCostSampling);
  }

 private:
  static constexpr cl_uint kMostWaits = 64;
  static constexpr std::uint32_t kMostMemory = KernelObject::kArguments;

  bool timed() const { return queue_ != nullptr && queue_->times; }
  // Returns the object of a queue that was made without the layer's notice.
  QueueObject* known_queue() {
    cl_command_queue_properties is{};
    next->clGetCommandQueueInfo(handle_, CL_QUEUE_PROPERTIES, sizeof is, &is, nullptr);
    const bool times = own_.times && (is & CL_QUEUE_PROFILING_ENABLE) != 0;
    return add_queue(handle_, times, is, nullptr);
  }

  Recorder& own_ = recording();
  ThreadState& thread_ = own_.thread();
  QueueObject* queue_;
  cl_command_queue handle_;
  cl_event* asked_;
  cl_event made_ = nullptr;  // with a reference of the layer's
  bool sampled_;
  std::uint64_t entered_ = 0;
  Command command_{};
  // Filled as far as the counts of the command say.
  std::array<std::uint64_t, 9> sizes_;
  std::array<std::uint64_t, kMostWaits> waits_;
  std::array<MemoryUse, kMostMemory> memory_;
};

// Wraps a command whose last three arguments are the waits and the event. `describe` gets the
// Enqueue and the other arguments.
template <auto member, cl_uint type, auto describe>
struct Wrapped;
template <class... Arguments,
          cl_int (CL_API_CALL* cl_icd_dispatch::*member)(cl_command_queue, Arguments...),
          cl_uint type, auto describe>
struct Wrapped<member, type, describe> {
  static cl_int CL_API_CALL call(cl_command_queue queue, Arguments... arguments) {
    constexpr std::size_t count = sizeof...(Arguments);
    std::tuple<Arguments...> all(arguments...);
    Enqueue enqueue(queue, type, std::get<count - 3>(all), std::get<count - 2>(all),
                    std::get<count - 1>(all));
    std::get<count - 1>(all) = enqueue.event();
    const cl_int status =
        std::apply([&](auto... each) { return (next->*member)(queue, each...); }, all);
    enqueue.returned(status);
    if (status == CL_SUCCESS) describe(enqueue, arguments...);
    enqueue.record();
    return status;
  }
};

// Wraps a map, which returns an address and has its status as its last argument.
template <auto member, cl_uint type, auto describe>
struct WrappedMap;
template <class... Arguments,
          void* (CL_API_CALL* cl_icd_dispatch::*member)(cl_command_queue, Arguments...),
          cl_uint type, auto describe>
struct WrappedMap<member, type, describe> {
  static void* CL_API_CALL call(cl_command_queue queue, Arguments... arguments) {
    constexpr std::size_t count = sizeof...(Arguments);
    std::tuple<Arguments...> all(arguments...);
    Enqueue enqueue(queue, type, std::get<count - 4>(all), std::get<count - 3>(all),
                    std::get<count - 2>(all));
    std::get<count - 2>(all) = enqueue.event();
    cl_int status = CL_SUCCESS;
    cl_int* const asked = std::exchange(std::get<count - 1>(all), &status);
    void* const mapped =
        std::apply([&](auto... each) { return (next->*member)(queue, each...); }, all);
    enqueue.returned(status);
    if (status == CL_SUCCESS) {
      describe(enqueue, arguments...);
      enqueue.host(mapped);
    }
    enqueue.record();
    if (asked != nullptr) *asked = status;
    return mapped;
  }
};

std::size_t volume(const std::size_t* region) { return region[0] * region[1] * region[2]; }
// Bytes before a rectangle in a buffer.
std::size_t before(const std::size_t* origin, const std::size_t* region, std::size_t row,
                   std::size_t slice) {
  if (row == 0) row = region[0];
  if (slice == 0) slice = row * region[1];
  return origin[0] + origin[1] * row + origin[2] * slice;
}

void to_host(Enqueue& e, cl_mem memory, cl_bool blocking, std::size_t offset, std::size_t size,
             const void* host) {
  e.blocking(blocking);
  e.bytes(size);
  e.host(host);
  e.reads(memory, offset, size);
}
void from_host(Enqueue& e, cl_mem memory, cl_bool blocking, std::size_t offset, std::size_t size,
               const void* host) {
  e.blocking(blocking);
  e.bytes(size);
  e.host(host);
  e.writes(memory, offset, size);
}
void copy(Enqueue& e, cl_mem from, cl_mem to, std::size_t from_offset, std::size_t to_offset,
          std::size_t size) {
  e.bytes(size);
  e.reads(from, from_offset, size);
  e.writes(to, to_offset, size);
}
std::size_t image_bytes(cl_mem image, const std::size_t* region) {
  return volume(region) * known_memory(image).element_bytes;
}
void map(Enqueue& e, cl_mem memory, cl_bool blocking, cl_map_flags flags, std::size_t offset,
         std::size_t size) {
  e.blocking(blocking);
  e.bytes(size);
  if (flags & CL_MAP_WRITE_INVALIDATE_REGION)
    e.writes(memory, offset, size);
  else
    e.reads(memory, offset, size);
}
void all_of(Enqueue& e, cl_uint count, const cl_mem* objects) {
  std::size_t bytes = 0;
  for (cl_uint m = 0; objects != nullptr && m < count; ++m) {
    const MemoryObject& memory = known_memory(objects[m]);
    bytes += memory.bytes;
    e.uses(memory.id, 3, 0, memory.bytes);
  }
  e.bytes(bytes);
}
void svm(Enqueue& e, std::uint32_t access, const void* pointer, std::size_t size) {
  e.bytes(size);
  e.uses(id_of(pointer), access, 0, size);
}

// The oldest forms of commands, without a wait list or without an event.

cl_int CL_API_CALL enqueue_marker(cl_command_queue queue, cl_event* event) {
  Enqueue enqueue(queue, CL_COMMAND_MARKER, 0, nullptr, event);
  const cl_int status = next->clEnqueueMarker(queue, enqueue.event());
  enqueue.returned(status);
  enqueue.no_wait_list();
  enqueue.record();
  return status;
}

cl_int CL_API_CALL enqueue_barrier(cl_command_queue queue) {
  Enqueue enqueue(queue, CL_COMMAND_BARRIER, 0, nullptr, nullptr);
  const cl_int status = next->clEnqueueBarrier(queue);
  enqueue.returned(status);
  enqueue.no_wait_list();
  enqueue.record();
  return status;
}

cl_int CL_API_CALL enqueue_wait_for_events(cl_command_queue queue, cl_uint count,
                                           const cl_event* list) {
  Enqueue enqueue(queue, CL_COMMAND_BARRIER, count, list, nullptr);
  const cl_int status = next->clEnqueueWaitForEvents(queue, count, list);
  enqueue.returned(status);
  enqueue.record();
  return status;
}

cl_int CL_API_CALL enqueue_task(cl_command_queue queue, cl_kernel kernel, cl_uint waits,
                                const cl_event* list, cl_event* event) {
  Enqueue enqueue(queue, CL_COMMAND_TASK, waits, list, event);
  const cl_int status = next->clEnqueueTask(queue, kernel, waits, list, enqueue.event());
  enqueue.returned(status);
  const std::size_t one = 1;
  if (status == CL_SUCCESS) enqueue.kernel(kernel, 1, nullptr, &one, &one);
  enqueue.record();
  return status;
}

}  // namespace

void wrap_command_calls(cl_icd_dispatch& table) {
#define WRAP(entry, type, ...) \
  table.entry = Wrapped<&cl_icd_dispatch::entry, type, [] __VA_ARGS__>::call;
#define WRAP_MAP(entry, type, ...) \
  table.entry = WrappedMap<&cl_icd_dispatch::entry, type, [] __VA_ARGS__>::call;
  using Sizes = const std::size_t*;

  WRAP(
      clEnqueueReadBuffer, CL_COMMAND_READ_BUFFER,
      (Enqueue & e, cl_mem m, cl_bool blocking, std::size_t offset, std::size_t size, void* to,
       auto...) { to_host(e, m, blocking, offset, size, to); })
  WRAP(
      clEnqueueWriteBuffer, CL_COMMAND_WRITE_BUFFER,
      (Enqueue & e, cl_mem m, cl_bool blocking, std::size_t offset, std::size_t size,
       const void* from, auto...) { from_host(e, m, blocking, offset, size, from); })
  WRAP(
      clEnqueueReadBufferRect, CL_COMMAND_READ_BUFFER_RECT,
      (Enqueue & e, cl_mem m, cl_bool blocking, Sizes origin, Sizes, Sizes region, std::size_t row,
       std::size_t slice, std::size_t, std::size_t, void* to, auto...) {
        to_host(e, m, blocking, before(origin, region, row, slice), volume(region), to);
      })
  WRAP(
      clEnqueueWriteBufferRect, CL_COMMAND_WRITE_BUFFER_RECT,
      (Enqueue & e, cl_mem m, cl_bool blocking, Sizes origin, Sizes, Sizes region, std::size_t row,
       std::size_t slice, std::size_t, std::size_t, const void* from, auto...) {
        from_host(e, m, blocking, before(origin, region, row, slice), volume(region), from);
      })
  WRAP(
      clEnqueueReadImage, CL_COMMAND_READ_IMAGE,
      (Enqueue & e, cl_mem m, cl_bool blocking, Sizes, Sizes region, std::size_t, std::size_t,
       void* to, auto...) { to_host(e, m, blocking, 0, image_bytes(m, region), to); })
  WRAP(
      clEnqueueWriteImage, CL_COMMAND_WRITE_IMAGE,
      (Enqueue & e, cl_mem m, cl_bool blocking, Sizes, Sizes region, std::size_t, std::size_t,
       const void* from, auto...) { from_host(e, m, blocking, 0, image_bytes(m, region), from); })

  WRAP(
      clEnqueueCopyBuffer, CL_COMMAND_COPY_BUFFER,
      (Enqueue & e, cl_mem from, cl_mem to, std::size_t from_offset, std::size_t to_offset,
       std::size_t size, auto...) { copy(e, from, to, from_offset, to_offset, size); })
  WRAP(
      clEnqueueCopyBufferRect, CL_COMMAND_COPY_BUFFER_RECT,
      (Enqueue & e, cl_mem from, cl_mem to, Sizes from_origin, Sizes to_origin, Sizes region,
       std::size_t from_row, std::size_t from_slice, std::size_t to_row, std::size_t to_slice,
       auto...) {
        copy(e, from, to, before(from_origin, region, from_row, from_slice),
             before(to_origin, region, to_row, to_slice), volume(region));
      })
  WRAP(
      clEnqueueCopyImage, CL_COMMAND_COPY_IMAGE,
      (Enqueue & e, cl_mem from, cl_mem to, Sizes, Sizes, Sizes region, auto...) {
        copy(e, from, to, 0, 0, image_bytes(from, region));
      })
  WRAP(
      clEnqueueCopyImageToBuffer, CL_COMMAND_COPY_IMAGE_TO_BUFFER,
      (Enqueue & e, cl_mem from, cl_mem to, Sizes, Sizes region, std::size_t offset, auto...) {
        copy(e, from, to, 0, offset, image_bytes(from, region));
      })
  WRAP(
      clEnqueueCopyBufferToImage, CL_COMMAND_COPY_BUFFER_TO_IMAGE,
      (Enqueue & e, cl_mem from, cl_mem to, std::size_t offset, Sizes, Sizes region, auto...) {
        copy(e, from, to, offset, 0, image_bytes(to, region));
      })
  WRAP(
      clEnqueueFillBuffer, CL_COMMAND_FILL_BUFFER,
      (Enqueue & e, cl_mem m, const void*, std::size_t, std::size_t offset, std::size_t size,
       auto...) {
        e.bytes(size);
        e.writes(m, offset, size);
      })
  WRAP(
      clEnqueueFillImage, CL_COMMAND_FILL_IMAGE,
      (Enqueue & e, cl_mem m, const void*, Sizes, Sizes region, auto...) {
        e.bytes(image_bytes(m, region));
        e.writes(m, 0, image_bytes(m, region));
      })

  WRAP_MAP(
      clEnqueueMapBuffer, CL_COMMAND_MAP_BUFFER,
      (Enqueue & e, cl_mem m, cl_bool blocking, cl_map_flags flags, std::size_t offset,
       std::size_t size, auto...) { map(e, m, blocking, flags, offset, size); })
  WRAP_MAP(
      clEnqueueMapImage, CL_COMMAND_MAP_IMAGE,
      (Enqueue & e, cl_mem m, cl_bool blocking, cl_map_flags flags, Sizes, Sizes region, auto...) {
        map(e, m, blocking, flags, 0, image_bytes(m, region));
      })
  WRAP(
      clEnqueueUnmapMemObject, CL_COMMAND_UNMAP_MEM_OBJECT,
      (Enqueue & e, cl_mem m, void* mapped, auto...) {
        e.host(mapped);  // the collector knows how many bytes
        e.writes(m, 0, 0);
      })
  WRAP(
      clEnqueueMigrateMemObjects, CL_COMMAND_MIGRATE_MEM_OBJECTS,
      (Enqueue & e, cl_uint count, const cl_mem* objects, auto...) { all_of(e, count, objects); })

  WRAP(
      clEnqueueNDRangeKernel, CL_COMMAND_NDRANGE_KERNEL,
      (Enqueue & e, cl_kernel kernel, cl_uint dimensions, Sizes offset, Sizes global, Sizes local,
       auto...) { e.kernel(kernel, dimensions, offset, global, local); })
  WRAP(
      clEnqueueNativeKernel, CL_COMMAND_NATIVE_KERNEL,
      (Enqueue & e, void(CL_CALLBACK*)(void*), void*, std::size_t, cl_uint count,
       const cl_mem* objects, auto...) { all_of(e, count, objects); })

  WRAP(
      clEnqueueMarkerWithWaitList, CL_COMMAND_MARKER, (Enqueue & e, cl_uint waits, auto...) {
        if (waits == 0) e.no_wait_list();
      })
  WRAP(
      clEnqueueBarrierWithWaitList, CL_COMMAND_BARRIER, (Enqueue & e, cl_uint waits, auto...) {
        if (waits == 0) e.no_wait_list();
      })

  WRAP(
      clEnqueueSVMMemcpy, CL_COMMAND_SVM_MEMCPY,
      (Enqueue & e, cl_bool blocking, void* to, const void* from, std::size_t size, auto...) {
        e.blocking(blocking);
        svm(e, 1, from, size);
        svm(e, 2, to, size);
      })
  WRAP(
      clEnqueueSVMMemFill, CL_COMMAND_SVM_MEMFILL,
      (Enqueue & e, void* to, const void*, std::size_t, std::size_t size, auto...) {
        svm(e, 2, to, size);
      })
  WRAP(
      clEnqueueSVMMap, CL_COMMAND_SVM_MAP,
      (Enqueue & e, cl_bool blocking, cl_map_flags, void* pointer, std::size_t size, auto...) {
        e.blocking(blocking);
        svm(e, 1, pointer, size);
      })
  WRAP(
      clEnqueueSVMUnmap, CL_COMMAND_SVM_UNMAP,
      (Enqueue & e, void* pointer, auto...) { svm(e, 2, pointer, 0); })
  WRAP(
      clEnqueueSVMMigrateMem, CL_COMMAND_SVM_MIGRATE_MEM,
      (Enqueue & e, cl_uint count, const void** pointers, const std::size_t* sizes, auto...) {
        std::size_t bytes = 0;
        for (cl_uint p = 0; p < count; ++p) {
          svm(e, 3, pointers[p], sizes != nullptr ? sizes[p] : 0);
          bytes += sizes != nullptr ? sizes[p] : 0;
        }
        e.bytes(bytes);
      })
  WRAP(
      clEnqueueSVMFree, CL_COMMAND_SVM_FREE,
      (Enqueue&, cl_uint count, void** pointers, auto free, auto...) {
        for (cl_uint p = 0; free == nullptr && p < count; ++p)
          if (Object* object = recording().handles.find(pointers[p])) forget(pointers[p], *object);
      })

  WRAP(
      clEnqueueAcquireGLObjects, CL_COMMAND_ACQUIRE_GL_OBJECTS,
      (Enqueue & e, cl_uint count, const cl_mem* objects, auto...) { all_of(e, count, objects); })
  WRAP(
      clEnqueueReleaseGLObjects, CL_COMMAND_RELEASE_GL_OBJECTS,
      (Enqueue & e, cl_uint count, const cl_mem* objects, auto...) { all_of(e, count, objects); })
#undef WRAP
#undef WRAP_MAP
#define REPLACE(entry, by) table.entry = by
  REPLACE(clEnqueueMarker, enqueue_marker);
  REPLACE(clEnqueueBarrier, enqueue_barrier);
  REPLACE(clEnqueueWaitForEvents, enqueue_wait_for_events);
  REPLACE(clEnqueueTask, enqueue_task);
#undef REPLACE
}

}  // namespace mgpu::layer
