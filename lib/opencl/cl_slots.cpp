#include "lib/opencl/cl_slots.hpp"

#include <algorithm>
#include <utility>

#include "lib/exec/driver_call.hpp"
#include "lib/exec/leak.hpp"
#include "lib/opencl/cl_shared.hpp"
#include "lib/opencl/cuda_memory.hpp"

namespace mgpu {

struct ClSlots::Memory {
  std::optional<Pages> pages;  // memory of a CPU
  cl::CommandQueue queue;
  cl::Buffer buffer;
  std::shared_ptr<std::byte> mapped;  // memory of a GPU at an address of CUDA
  std::function<void()> entrance;
  std::byte* begin = nullptr;
  std::array<std::atomic<bool>, kCount> taken{};
  std::array<DeviceIndex, kCount> receivers{};  // receivers of the taken slots

  ~Memory() {
    if (pages || mapped || begin == nullptr) return;
    clEnqueueUnmapMemObject(queue(), buffer(), begin, 0, nullptr, nullptr);
    clFinish(queue());
  }
};

ClSlots::ClSlots() = default;

ClSlots::~ClSlots() {
  if (!memory_) return;
  try {
    driver_call("unmapping memory of exchanges", std::chrono::seconds(10), {},
                [memory = std::move(memory_)]() mutable { memory.reset(); });
  } catch (const Error&) {  // left behind
  }
}

const cl::Buffer* ClSlots::on_device() const {
  return memory_->mapped ? &memory_->buffer : nullptr;
}
Bytes ClSlots::offset_of(const ClSlot& slot) const {
  return static_cast<Bytes>(slot.memory - memory_->begin);
}
std::function<void()> ClSlots::entrance() const { return memory_->entrance; }

// Makes slots that OpenCL knows as a buffer and CUDA by an address.
void ClSlots::make_on_device(ClDevice& device, Memory& made) {
  const CudaMemory::Loaded& cuda = CudaMemory::instance();
  if (!cuda.memory) throw Error(ErrorKind::unsupported, cuda.why);
  const Device facts = device.facts();
  const FileDescriptor memory = cuda.memory->make(facts, kCount * kSize);
  made.buffer = import_memory(device, memory, kCount * kSize);
  made.mapped = cuda.memory->map(memory, facts, kCount * kSize);
  made.begin = made.mapped.get();
  made.entrance = [library = cuda.memory.get(), facts] { library->enter(facts); };
}

void ClSlots::make(ClDevice& device, bool in_place) {
  if (memory_) return;
  const DriverCall inside(&device);
  auto made = std::make_shared<Memory>();
  if (in_place) {
    try {
      // Memory of a CPU device is that of the host, which every library takes.
      if (!device.facts().is_cpu()) make_on_device(device, *made);
      why_not_in_place_.reset();
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::unsupported) throw;
      why_not_in_place_ = error.what();
      made = std::make_shared<Memory>();
    }
  }
  if (made->mapped) {
    memory_ = std::move(made);
    return;
  }
  if (device.facts().is_cpu()) {
    made->pages.emplace(kCount * kSize, "exchanges of device " + device.facts().id);
    made->begin = made->pages->data();
  } else {
    device.end_stalls();
    made->queue = device.queue(CommandKind::upload);
    made->buffer =
        cl::Buffer(device.context(), CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, kCount * kSize);
    cl::Event mapped;
    void* const begin = made->queue.enqueueMapBuffer(
        made->buffer, CL_FALSE, CL_MAP_READ | CL_MAP_WRITE, 0, kCount * kSize, nullptr, &mapped);
    made->queue.flush();
    try {
      device.wait_for_command(mapped);
    } catch (...) {
      mgpu::leak(std::move(made));  // the device may still be mapping it
      throw;
    }
    made->begin = static_cast<std::byte*>(begin);
  }
  memory_ = std::move(made);
}

std::optional<ClSlot> ClSlots::take(DeviceIndex receiver) {
  for (std::size_t i = 0; i < kCount; ++i) {
    if (memory_->taken[i].exchange(true, std::memory_order_acquire)) continue;
    memory_->receivers[i] = receiver;
    return ClSlot{memory_->begin + i * kSize, &memory_->taken[i]};
  }
  return std::nullopt;
}

bool ClSlots::full() const {
  return std::all_of(memory_->taken.begin(), memory_->taken.end(),
                     [](const auto& taken) { return taken.load(); });
}

DeviceIndex ClSlots::receiver() const { return memory_->receivers.front(); }

void ClSlots::leak() {
  if (memory_) mgpu::leak(std::move(memory_));
}

}  // namespace mgpu
