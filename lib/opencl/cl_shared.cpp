#include "lib/opencl/cl_shared.hpp"

#include <algorithm>
#include <utility>

#include "lib/exec/driver_call.hpp"
#include "lib/exec/leak.hpp"
#include "lib/opencl/cl_objects.hpp"

namespace mgpu {
namespace {

// Largest piece that is imported. The driver ends the process when it imports more: with several
// H200 and driver 580.159.04, pieces of 511.9 MiB and more do that, into any context and however
// they were made; 510 MiB and less are fine. (One H100 alone imports 4 GiB.)
constexpr Bytes kMostImported = Bytes{508} << 20;

Error too_large(Bytes size) {
  return Error(ErrorKind::unsupported,
               "GPUs share pieces of memory of at most " + std::to_string(kMostImported) +
                   " bytes with each other, not of " + std::to_string(size));
}

}  // namespace

cl::Buffer import_memory(ClDevice& device, const FileDescriptor& memory, Bytes size) {
  const DriverCall inside(&device);
  FileDescriptor own(memory.duplicate());
  const cl_mem_properties properties[] = {CL_EXTERNAL_MEMORY_HANDLE_OPAQUE_FD_KHR,
                                          static_cast<cl_mem_properties>(own.get()), 0};
  cl_int status = CL_SUCCESS;
  const cl_mem buffer = clCreateBufferWithProperties(device.context()(), properties,
                                                     CL_MEM_READ_WRITE, size, nullptr, &status);
  if (status != CL_SUCCESS) {
    const std::string what = "importing " + std::to_string(size) + " bytes on " + device.facts().id;
    const Error failure = allocation_failure(what, status);
    if (failure.kind() == ErrorKind::out_of_memory) throw failure;
    throw Error(ErrorKind::unsupported, failure.what());
  }
  own.release();  // the driver owns it now
  return cl::Buffer(buffer);
}

ClSharedMemory::ClSharedMemory(std::span<ClDevice* const> devices, std::span<const PeerPath> paths,
                               Bytes size)
    : size_(size), buffers_(devices.size() * devices.size()), addresses_(buffers_.size()) {
  for (const ClDevice* device : devices)
    states_.push_back(device != nullptr ? device->state() : nullptr);
  for (std::uint32_t i = 0; i < devices.size(); ++i)
    if (devices[i] != nullptr) make_piece(devices, {i}, paths);
}

ClSharedMemory::ClSharedMemory(std::span<ClDevice* const> devices, Bytes size)
    : size_(size), buffers_(devices.size() * devices.size()), addresses_(buffers_.size()) {
  for (const ClDevice* device : devices) states_.push_back(device->state());
  const CudaMemory::Loaded& cuda = CudaMemory::instance();
  if (!cuda.memory) throw Error(ErrorKind::unsupported, cuda.why);
  if (size > kMostImported) throw too_large(size);
  for (std::size_t of = 0; of < devices.size(); ++of) {
    const FileDescriptor memory = cuda.memory->make_on_host(size);
    for (std::size_t by = 0; by < devices.size(); ++by)
      buffers_[by * devices.size() + of] =
          devices[by]->adopt(import_memory(*devices[by], memory, size), size, false);
  }
}

Bytes ClSharedMemory::most(std::span<const PeerPath> paths) {
  return std::find(paths.begin(), paths.end(), PeerPath::direct) == paths.end() ? ~Bytes{0}
                                                                                : kMostImported;
}

void ClSharedMemory::make_piece(std::span<ClDevice* const> devices, DeviceIndex device,
                                std::span<const PeerPath> paths) {
  const std::size_t n = devices.size();
  ClDevice& own = *devices[device.value];
  const auto path_from = [&](std::size_t from) { return paths[from * n + device.value]; };
  const auto reached = [&](PeerPath path) {
    for (std::size_t from = 0; from < n; ++from)
      if (from != device.value && path_from(from) == path) return true;
    return false;
  };
  const auto keep = [&](std::size_t by, std::unique_ptr<Buffer> buffer) {
    buffers_[by * n + device.value] = std::move(buffer);
  };
  if (!reached(PeerPath::direct) && !reached(PeerPath::host))
    return keep(device.value, own.resources().allocate(size_));
  own.make_room(size_);
  try {
    if (reached(PeerPath::direct)) {
      if (size_ > kMostImported) throw too_large(size_);
      const FileDescriptor memory = CudaMemory::instance().memory->make(own.facts(), size_);
      for (std::size_t by = 0; by < n; ++by) {
        const bool is_own = by == device.value;
        if (!is_own && path_from(by) != PeerPath::direct) continue;
        keep(by, devices[by]->adopt(import_memory(*devices[by], memory, size_), size_, is_own));
        addresses_[by * n + device.value] =
            devices[by]->address_of(*buffers_[by * n + device.value]);
      }
    } else {
      Pages& pages =
          *pages_.emplace_back(std::make_unique<Pages>(size_, "memory that devices share"));
      const auto over = [&](ClDevice& by) {
        const DriverCall inside(&by);
        return cl::Buffer(by.context(), CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, size_,
                          pages.data());
      };
      keep(device.value, own.adopt(over(own), size_, true));
      for (std::size_t by = 0; by < n; ++by) {
        if (by != device.value && path_from(by) == PeerPath::host)
          keep(by, devices[by]->adopt(over(*devices[by]), size_, false));
      }
    }
  } catch (const cl::Error& error) {
    throw allocation_failure(
        "allocating " + std::to_string(size_) + " bytes to share on " + own.facts().id,
        error.err());
  }
}

ClSharedMemory::~ClSharedMemory() {
  if (std::none_of(states_.begin(), states_.end(), [](const auto& state) {
        return state != nullptr && state->may_be_in_flight.load();
      }))
    return;
  leak(std::move(buffers_));
  leak(std::move(pages_));
}

}  // namespace mgpu
