// A library with the few functions of NVIDIA's management library that lib/exec/nvml.cpp calls: one GPU, one part of a GPU.
#include <cstring>

extern "C" {

struct FakeMemory {
  unsigned long long total, free, used;
};
using Handle = void*;

static int gpu, part;

int nvmlInit_v2() { return 0; }
int nvmlShutdown() { return 0; }

int nvmlDeviceGetHandleByPciBusId_v2(const char* pci, Handle* handle) {
  if (std::strcmp(pci, "0000:1a:00.0") != 0) return 6;  // NVML_ERROR_NOT_FOUND
  *handle = &gpu;
  return 0;
}

int nvmlDeviceGetHandleByUUID(const char* uuid, Handle* handle) {
  if (std::strcmp(uuid, "GPU-8912fe00-0000-0000-0000-000000000000") == 0)
    *handle = &gpu;
  else if (std::strcmp(uuid, "MIG-8912fe00-0000-0000-0000-000000000001") == 0)
    *handle = &part;
  else
    return 6;
  return 0;
}

int nvmlDeviceGetMemoryInfo(Handle handle, FakeMemory* memory) {
  *memory = handle == &part ? FakeMemory{100, 30, 70} : FakeMemory{1000, 600, 400};
  return 0;
}
}
