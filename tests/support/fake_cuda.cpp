// A library with the few functions of the CUDA driver API that lib/opencl/cuda_memory.cpp calls. It
// has two GPUs, the second of which has no memory left, and a third that cannot export memory.
// Memory is an anonymous file. Compiled with MGPU_FAKE_CUDA_REFUSES it does not start.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>

extern "C" {

struct FakeUuid {
  unsigned char bytes[16];
};
struct FakeProperties {
  int type, handle_types, location_type, location_id;
  void* windows_handle;
  unsigned char rest[8];
};

static constexpr int kOutOfMemory = 2, kNotSupported = 801, kUnknown = 999;
static int last_device;

#ifdef MGPU_FAKE_CUDA_REFUSES
int cuInit(unsigned) { return kUnknown; }
#else
int cuInit(unsigned flags) { return flags == 0 ? 0 : kUnknown; }
#endif
int cuDeviceGetCount(int* count) {
  *count = 3;
  return 0;
}
int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return 0;
}
int cuDeviceGetUuid(FakeUuid* uuid, int device) {
  std::memset(uuid->bytes, 0, sizeof uuid->bytes);
  uuid->bytes[0] = 0x8a;
  uuid->bytes[15] = static_cast<unsigned char>(device);
  return 0;
}
int cuMemGetAllocationGranularity(std::size_t* granule, const FakeProperties*, int) {
  *granule = std::size_t{2} << 20;
  return 0;
}
int cuMemCreate(unsigned long long* handle, std::size_t size, const FakeProperties* properties,
                unsigned long long) {
  if (properties->type != 1 || properties->handle_types != 1 ||
      (properties->location_type != 1 && properties->location_type != 3))
    return kUnknown;
  last_device =
      properties->location_type == 1 ? properties->location_id : 0;  // the host has enough memory
  if (last_device == 1) return kOutOfMemory;
  *handle = size;
  return size % (std::size_t{2} << 20) == 0 ? 0 : kUnknown;
}
int cuMemExportToShareableHandle(void* to, unsigned long long handle, int, unsigned long long) {
  if (last_device == 2) return kNotSupported;
  const int fd = memfd_create("fake memory", 0);
  if (ftruncate(fd, static_cast<off_t>(handle)) != 0) return kUnknown;
  std::memcpy(to, &fd, sizeof fd);
  return 0;
}
int cuMemRelease(unsigned long long) { return 0; }

// A handle of imported memory is a file descriptor; addresses are those of this process.
struct FakeAccess {
  int location_type, location_id, flags;
};
int cuMemImportFromShareableHandle(unsigned long long* handle, void* fd, int type) {
  *handle = reinterpret_cast<unsigned long long>(fd);
  return type == 1 ? 0 : kUnknown;
}
int cuMemAddressReserve(unsigned long long* address, std::size_t size, std::size_t,
                        unsigned long long, unsigned long long) {
  void* const at = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  *address = reinterpret_cast<unsigned long long>(at);
  return at == MAP_FAILED ? kOutOfMemory : 0;
}
int cuMemMap(unsigned long long address, std::size_t size, std::size_t offset,
             unsigned long long handle, unsigned long long) {
  return mmap(reinterpret_cast<void*>(address), size, PROT_NONE, MAP_SHARED | MAP_FIXED,
              static_cast<int>(handle), static_cast<off_t>(offset)) == MAP_FAILED
             ? kUnknown
             : 0;
}
int cuMemSetAccess(unsigned long long address, std::size_t size, const FakeAccess* access,
                   std::size_t count) {
  if (count != 1 || access->location_type != 1 || access->flags != 3) return kUnknown;
  if (access->location_id == 2) return kNotSupported;
  return mprotect(reinterpret_cast<void*>(address), size, PROT_READ | PROT_WRITE) == 0 ? 0
                                                                                       : kUnknown;
}
int cuMemUnmap(unsigned long long address, std::size_t size) {
  return mprotect(reinterpret_cast<void*>(address), size, PROT_NONE) == 0 ? 0 : kUnknown;
}
int cuMemAddressFree(unsigned long long address, std::size_t size) {
  return munmap(reinterpret_cast<void*>(address), size) == 0 ? 0 : kUnknown;
}
int cuDevicePrimaryCtxRetain(void** context, int device) {
  static int contexts[3];
  *context = &contexts[device];
  return device == 2 ? kNotSupported : 0;
}
int cuCtxSetCurrent(void* context) { return context != nullptr ? 0 : kUnknown; }
int cuGetErrorName(int status, const char** name) {
  *name = status == kOutOfMemory    ? "CUDA_ERROR_OUT_OF_MEMORY"
          : status == kNotSupported ? "CUDA_ERROR_NOT_SUPPORTED"
                                    : "CUDA_ERROR_UNKNOWN";
  return 0;
}

}  // extern "C"
