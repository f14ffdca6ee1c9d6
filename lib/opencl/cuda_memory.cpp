// Names, types and values are those of the CUDA driver API reference
// (docs.nvidia.com/cuda/cuda-driver-api), which keeps them stable.
#include "lib/opencl/cuda_memory.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/opencl/library.hpp"

namespace mgpu {
namespace {

constexpr int kOutOfMemory = 2, kFileDescriptor = 1, kRecommendedGranularity = 1;
constexpr int kOnDevice = 1,
              kOnHost = 3;  // CU_MEM_LOCATION_TYPE_DEVICE, CU_MEM_LOCATION_TYPE_HOST_NUMA

// Returns the hexadecimal digits of a UUID, without dashes: "0a1b...".
std::string digits(const std::array<unsigned char, 16>& uuid) {
  constexpr const char* hex = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : uuid) text += {hex[byte >> 4], hex[byte & 15]};
  return text;
}

std::string without_dashes(std::string uuid) {
  std::erase(uuid, '-');
  return uuid;
}

}  // namespace

FileDescriptor::FileDescriptor(FileDescriptor&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)) {}
FileDescriptor& FileDescriptor::operator=(FileDescriptor&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}
FileDescriptor::~FileDescriptor() {
  if (fd_ >= 0) ::close(fd_);
}
int FileDescriptor::duplicate() const { return ::fcntl(fd_, F_DUPFD_CLOEXEC, 0); }

struct CudaMemory::Functions : Library {
  // CUmemAllocationProp
  struct AllocationProperties {
    int type = 1;          // CU_MEM_ALLOCATION_TYPE_PINNED
    int handle_types = 1;  // CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
    int location_type = 0;
    int location_id = 0;
    void* windows_handle = nullptr;
    unsigned char compression = 0, rdma_capable = 0;
    unsigned short usage = 0;
    unsigned char reserved[4] = {};
  };
  using Handle = unsigned long long;
  int (*init)(unsigned) = nullptr;
  int (*device_count)(int*) = nullptr;
  int (*device_get)(int*, int) = nullptr;
  int (*device_uuid)(std::array<unsigned char, 16>*, int) = nullptr;
  int (*granularity)(std::size_t*, const AllocationProperties*, int) = nullptr;
  int (*create)(Handle*, std::size_t, const AllocationProperties*, unsigned long long) = nullptr;
  int (*export_handle)(void*, Handle, int, unsigned long long) = nullptr;
  int (*release)(Handle) = nullptr;
  int (*error_name)(int, const char**) = nullptr;
  std::string name_of(int status) const {
    const char* name = nullptr;
    return error_name(status, &name) == 0 && name != nullptr ? name
                                                             : "error " + std::to_string(status);
  }
  Error refused(const std::string& what, const char* call, int status) const {
    return Error(status == kOutOfMemory ? ErrorKind::out_of_memory : ErrorKind::unsupported,
                 what + ": " + call + " says " + name_of(status));
  }
};

CudaMemory::CudaMemory(std::unique_ptr<Functions> functions) : functions_(std::move(functions)) {}
CudaMemory::~CudaMemory() = default;

CudaMemory::Loaded CudaMemory::load(const std::string& library) {
  auto functions = std::make_unique<Functions>();
  Functions& f = *functions;
  if (!f.load(library)) return {nullptr, library + " cannot be loaded"};
  const bool complete =
      f.find(f.init, "cuInit") && f.find(f.device_count, "cuDeviceGetCount") &&
      f.find(f.device_get, "cuDeviceGet") && f.find(f.device_uuid, "cuDeviceGetUuid") &&
      f.find(f.granularity, "cuMemGetAllocationGranularity") && f.find(f.create, "cuMemCreate") &&
      f.find(f.export_handle, "cuMemExportToShareableHandle") &&
      f.find(f.release, "cuMemRelease") && f.find(f.error_name, "cuGetErrorName");
  if (!complete) return {nullptr, library + " is too old"};
  if (decltype(f.device_uuid) newer = nullptr; f.find(newer, "cuDeviceGetUuid_v2"))
    f.device_uuid = newer;  // parts of a GPU have UUIDs of their own
  if (const int status = f.init(0); status != 0)
    return {nullptr, library + " does not start: " + f.name_of(status)};
  return {std::unique_ptr<CudaMemory>(new CudaMemory(std::move(functions))), {}};
}

const CudaMemory::Loaded& CudaMemory::instance() {
  // Leaked, as exit handlers of drivers are unreliable.
  static const Loaded& only = *new Loaded(load(kLibrary));
  return only;
}

FileDescriptor CudaMemory::make(const Device& device, Bytes size) const {
  const Functions& f = *functions_;
  const std::string what = "memory of device " + device.id + " to share";
  int count = 0;
  if (const int status = f.device_count(&count); status != 0)
    throw f.refused(what, "cuDeviceGetCount", status);
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    std::array<unsigned char, 16> uuid{};
    int known = 0;
    if (f.device_get(&known, ordinal) == 0 && f.device_uuid(&uuid, known) == 0 && device.uuid &&
        without_dashes(*device.uuid) == digits(uuid))
      return make(what, kOnDevice, known, size);
  }
  throw Error(ErrorKind::unsupported, what + ": CUDA knows no device of its UUID");
}

FileDescriptor CudaMemory::make_on_host(Bytes size) const {
  return make("memory of the host to share", kOnHost, 0, size);
}

FileDescriptor CudaMemory::make(const std::string& what, int location_type, int location,
                                Bytes size) const {
  static_assert(sizeof(Functions::AllocationProperties) == 32);
  const Functions& f = *functions_;
  Functions::AllocationProperties properties;
  properties.location_type = location_type;
  properties.location_id = location;
  std::size_t granule = 0;
  if (const int status = f.granularity(&granule, &properties, kRecommendedGranularity); status != 0)
    throw f.refused(what, "cuMemGetAllocationGranularity", status);
  Functions::Handle handle = 0;
  if (const int status =
          f.create(&handle, (size + granule - 1) / granule * granule, &properties, 0);
      status != 0)
    throw f.refused(what, "cuMemCreate", status);
  int fd = -1;
  const int status = f.export_handle(&fd, handle, kFileDescriptor, 0);
  f.release(handle);  // the exported descriptor keeps the memory
  if (status != 0) throw f.refused(what, "cuMemExportToShareableHandle", status);
  (void)::fcntl(fd, F_SETFD, FD_CLOEXEC);  // a child would keep the memory as well
  return FileDescriptor(fd);
}

}  // namespace mgpu
