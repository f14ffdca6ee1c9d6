// Names, types and values are those of the CUDA driver API reference
// (docs.nvidia.com/cuda/cuda-driver-api), which keeps them stable.
#include "lib/opencl/cuda_memory.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
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
  // CUmemAccessDesc
  struct Access {
    int location_type = kOnDevice, location_id = 0,
        flags = 3;  // CU_MEM_ACCESS_FLAGS_PROT_READWRITE
  };
  using Address = unsigned long long;
  // Only map() and enter() need these.
  int (*import_handle)(Handle*, void*, int) = nullptr;
  int (*reserve)(Address*, std::size_t, std::size_t, Address, unsigned long long) = nullptr;
  int (*map)(Address, std::size_t, std::size_t, Handle, unsigned long long) = nullptr;
  int (*set_access)(Address, std::size_t, const Access*, std::size_t) = nullptr;
  int (*unmap)(Address, std::size_t) = nullptr;
  int (*free_address)(Address, std::size_t) = nullptr;
  int (*retain_context)(void**, int) = nullptr;
  int (*set_context)(void*) = nullptr;
  bool find_mapping() {
    return find(import_handle, "cuMemImportFromShareableHandle") &&
           find(reserve, "cuMemAddressReserve") && find(map, "cuMemMap") &&
           find(set_access, "cuMemSetAccess") && find(unmap, "cuMemUnmap") &&
           find(free_address, "cuMemAddressFree") &&
           find(retain_context, "cuDevicePrimaryCtxRetain") && find(set_context, "cuCtxSetCurrent");
  }
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
  const std::string what = "memory of device " + device.id + " to share";
  return make(what, kOnDevice, ordinal_of(device, what), size);
}

// Returns CUDA's number of the device with its UUID.
int CudaMemory::ordinal_of(const Device& device, const std::string& what) const {
  const Functions& f = *functions_;
  int count = 0;
  if (const int status = f.device_count(&count); status != 0)
    throw f.refused(what, "cuDeviceGetCount", status);
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    std::array<unsigned char, 16> uuid{};
    int known = 0;
    if (f.device_get(&known, ordinal) == 0 && f.device_uuid(&uuid, known) == 0 && device.uuid &&
        without_dashes(*device.uuid) == digits(uuid))
      return known;
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

std::shared_ptr<std::byte> CudaMemory::map(const FileDescriptor& memory, const Device& device,
                                           Bytes size) const {
  const std::string what = "memory of device " + device.id + " at an address";
  Functions& f = *functions_;
  if (!f.find_mapping()) throw Error(ErrorKind::unsupported, what + ": the CUDA driver is too old");
  const int ordinal = ordinal_of(device, what);
  const auto check = [&](const char* call, int status) {
    if (status != 0) throw f.refused(what, call, status);
  };
  Functions::Handle handle = 0;
  const auto fd = static_cast<std::uintptr_t>(memory.get());
  check("cuMemImportFromShareableHandle",
        f.import_handle(&handle, reinterpret_cast<void*>(fd), kFileDescriptor));
  Functions::Address address = 0;
  int status = f.reserve(&address, size, 0, 0, 0);
  if (status != 0) f.release(handle);
  check("cuMemAddressReserve", status);
  status = f.map(address, size, 0, handle, 0);
  f.release(handle);  // the mapping keeps the memory
  if (status != 0) f.free_address(address, size);
  check("cuMemMap", status);
  std::shared_ptr<std::byte> mapped(reinterpret_cast<std::byte*>(address),
                                    [functions = functions_, size](std::byte* at) {
                                      const auto mapping = reinterpret_cast<std::uintptr_t>(at);
                                      functions->unmap(mapping, size);
                                      functions->free_address(mapping, size);
                                    });
  const Functions::Access access{kOnDevice, ordinal};
  check("cuMemSetAccess", f.set_access(address, size, &access, 1));
  return mapped;
}

void CudaMemory::enter(const Device& device) const {
  const std::string what = "the CUDA context of device " + device.id;
  Functions& f = *functions_;
  if (!f.find_mapping()) throw Error(ErrorKind::unsupported, what + ": the CUDA driver is too old");
  void* context = nullptr;
  int status = f.retain_context(&context, ordinal_of(device, what));
  if (status != 0) throw f.refused(what, "cuDevicePrimaryCtxRetain", status);
  status = f.set_context(context);
  if (status != 0) throw f.refused(what, "cuCtxSetCurrent", status);
}

}  // namespace mgpu
