// A library with the few functions of NVIDIA's management library that lib/opencl/nvml.cpp calls:
// one GPU that reports everything, one part of it, which reports only memory, and another GPU of
// a sixteenth of its power. Counters of energy advance every 20 ms.
#include <chrono>
#include <cstring>

extern "C" {

struct FakeMemory {
  unsigned long long total, free, used;
};
struct FakeUtilisation {
  unsigned gpu, memory;
};
using Handle = void*;

static int gpu, part, other;

static unsigned milliwatts_of(Handle handle) { return handle == &other ? 21'600 : 345'600; }

static constexpr int kInvalidArgument = 2, kNotSupported = 3, kNotFound = 6, kInsufficientSize = 7;

int nvmlInit_v2() { return 0; }
int nvmlShutdown() { return 0; }

int nvmlDeviceGetHandleByPciBusId_v2(const char* pci, Handle* handle) {
  const bool second = std::strcmp(pci, "0000:1c:00.0") == 0;
  if (!second && std::strcmp(pci, "0000:1a:00.0") != 0) return kNotFound;
  *handle = second ? &other : &gpu;
  return 0;
}

int nvmlDeviceGetHandleByUUID(const char* uuid, Handle* handle) {
  if (std::strcmp(uuid, "GPU-8912fe00-0000-0000-0000-000000000000") == 0)
    *handle = &gpu;
  else if (std::strcmp(uuid, "MIG-8912fe00-0000-0000-0000-000000000001") == 0)
    *handle = &part;
  else
    return kNotFound;
  return 0;
}

int nvmlDeviceGetMemoryInfo(Handle handle, FakeMemory* memory) {
  *memory = handle == &part ? FakeMemory{100, 30, 70} : FakeMemory{1000, 600, 400};
  return 0;
}

static int tell(Handle handle, unsigned* figure, unsigned value) {
  if (handle == &part) return kNotSupported;
  *figure = value;
  return 0;
}

int nvmlDeviceGetClockInfo(Handle handle, int which, unsigned* mhz) {
  return tell(handle, mhz, which == 1 ? 1980 : 3201);
}
int nvmlDeviceGetPowerUsage(Handle handle, unsigned* milliwatts) {
  return tell(handle, milliwatts, milliwatts_of(handle));
}
int nvmlDeviceGetTemperature(Handle handle, int sensor, unsigned* celsius) {
  return sensor == 0 ? tell(handle, celsius, 61) : 2;
}

int nvmlDeviceGetTotalEnergyConsumption(Handle handle, unsigned long long* millijoules) {
  const auto steps =
      std::chrono::steady_clock::now().time_since_epoch() / std::chrono::milliseconds(20);
  *millijoules = static_cast<unsigned long long>(steps) * milliwatts_of(handle) / 50;
  return handle == &part ? kNotSupported : 0;
}

struct FakeField {
  unsigned field, scope;
  long long at, latency;
  int type, result;
  unsigned long long value;
};
int nvmlDeviceGetFieldValues(Handle handle, int count, FakeField* fields) {
  if (handle == &part || count != 1 || fields->field != 186) return kNotSupported;
  fields->type = 1;
  fields->result = 0;
  fields->value = milliwatts_of(handle);
  return 0;
}

int nvmlDeviceGetUtilizationRates(Handle handle, FakeUtilisation* utilisation) {
  *utilisation = {97, 12};
  return handle == &part ? kNotSupported : 0;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(Handle handle, unsigned long long* reasons) {
  *reasons = 0x1 | 0x4 | 0x8 | 0x40;  // idle, power cap, hardware slowdown because of heat
  return handle == &part ? kNotSupported : 0;
}

int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(Handle handle, Handle* whole) {
  *whole = &gpu;
  return handle == &part ? 0 : kNotSupported;
}

int nvmlDeviceGetPowerManagementLimit(Handle handle, unsigned* milliwatts) {
  return tell(handle, milliwatts, 500'000);
}
int nvmlDeviceGetMaxClockInfo(Handle handle, int which, unsigned* mhz) {
  return tell(handle, mhz, which == 1 ? 1990 : 3300);
}
int nvmlDeviceGetApplicationsClock(Handle handle, int which, unsigned* mhz) {
  return tell(handle, mhz, which == 1 ? 1500 : 3200);
}
int nvmlDeviceGetMaxPcieLinkGeneration(Handle handle, unsigned* generation) {
  return tell(handle, generation, 5);
}
int nvmlDeviceGetMaxPcieLinkWidth(Handle handle, unsigned* lanes) {
  return tell(handle, lanes, 16);
}
int nvmlDeviceGetCurrPcieLinkGeneration(Handle handle, unsigned* generation) {
  return tell(handle, generation, 1);
}
int nvmlDeviceGetCurrPcieLinkWidth(Handle handle, unsigned* lanes) {
  return tell(handle, lanes, 8);
}
// Reports six links, the last of which is down.
int nvmlDeviceGetNvLinkState(Handle handle, unsigned link, int* active) {
  *active = link < 5 ? 1 : 0;
  return handle == &gpu && link < 6 ? 0 : kInvalidArgument;
}
int nvmlDeviceGetEccMode(Handle, int* now, int* pending) {
  *now = 1;
  *pending = 0;
  return 0;
}
int nvmlDeviceGetTotalEccErrors(Handle handle, int type, int counter, unsigned long long* count) {
  *count = type == 0 ? 7 : 2;
  return handle == &gpu && counter == 0 ? 0 : kNotSupported;
}
int nvmlDeviceGetMigMode(Handle, unsigned* now, unsigned* pending) {
  *now = 0;
  *pending = 1;
  return 0;
}
int nvmlDeviceGetPersistenceMode(Handle, int* mode) {
  *mode = 1;
  return 0;
}

int nvmlDeviceGetComputeRunningProcesses_v3(Handle handle, unsigned* count, void*) {
  if (handle == &part) return kNotSupported;
  *count = 3;
  return kInsufficientSize;
}
}
