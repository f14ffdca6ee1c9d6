// Names, types and values are those of the NVML API reference (docs.nvidia.com/deploy/nvml-api),
// which keeps them stable.
#include "lib/opencl/nvml.hpp"

#include <initializer_list>

#include "lib/opencl/library.hpp"

namespace mgpu {

struct Nvml::Functions : Library {
  struct Memory {
    unsigned long long total, free, used;
  };
  struct Utilisation {
    unsigned gpu, memory;  // percent
  };
  struct FieldValue {
    unsigned field, scope;
    long long at, latency;  // us
    int type, result;
    union {
      double real;
      unsigned number;
      unsigned long long large;
    } value;
  };
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*by_pci)(const char*, Handle*) = nullptr;
  int (*by_uuid)(const char*, Handle*) = nullptr;
  int (*memory)(Handle, Memory*) = nullptr;
  // Older drivers lack some of these.
  int (*clock)(Handle, int, unsigned*) = nullptr;
  int (*power)(Handle, unsigned*) = nullptr;
  int (*energy)(Handle, unsigned long long*) = nullptr;
  int (*fields)(Handle, int, FieldValue*) = nullptr;
  int (*temperature)(Handle, int, unsigned*) = nullptr;
  int (*utilisation)(Handle, Utilisation*) = nullptr;
  int (*clock_limits)(Handle, unsigned long long*) = nullptr;
  int (*processes)(Handle, unsigned*, void*) = nullptr;
  int (*pcie_generation)(Handle, unsigned*) = nullptr;
  int (*pcie_width)(Handle, unsigned*) = nullptr;
  int (*whole_gpu)(Handle, Handle*) = nullptr;
  int (*power_limit)(Handle, unsigned*) = nullptr;
  int (*clock_max)(Handle, int, unsigned*) = nullptr;
  int (*application_clock)(Handle, int, unsigned*) = nullptr;
  int (*pcie_generation_max)(Handle, unsigned*) = nullptr;
  int (*pcie_width_max)(Handle, unsigned*) = nullptr;
  int (*nvlink_state)(Handle, unsigned, int*) = nullptr;
  int (*ecc)(Handle, int*, int*) = nullptr;            // state now, state after the next start
  int (*mig)(Handle, unsigned*, unsigned*) = nullptr;  // state now, state after the next start
  int (*persistence)(Handle, int*) = nullptr;
  // Corrected (0) or not (1); since the driver was loaded (0) or ever (1).
  int (*ecc_errors)(Handle, int, int, unsigned long long*) = nullptr;

  void find_figures() {
    find(clock, "nvmlDeviceGetClockInfo");
    find(power, "nvmlDeviceGetPowerUsage");
    find(energy, "nvmlDeviceGetTotalEnergyConsumption");
    find(fields, "nvmlDeviceGetFieldValues");
    find(temperature, "nvmlDeviceGetTemperature");
    find(utilisation, "nvmlDeviceGetUtilizationRates");
    find(clock_limits, "nvmlDeviceGetCurrentClocksThrottleReasons");
    for (const char* name :
         {"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2"})
      if (find(processes, name)) break;
    find(pcie_generation, "nvmlDeviceGetCurrPcieLinkGeneration");
    find(pcie_width, "nvmlDeviceGetCurrPcieLinkWidth");
    find(whole_gpu, "nvmlDeviceGetDeviceHandleFromMigDeviceHandle");
    find(power_limit, "nvmlDeviceGetPowerManagementLimit");
    find(clock_max, "nvmlDeviceGetMaxClockInfo");
    find(application_clock, "nvmlDeviceGetApplicationsClock");
    find(pcie_generation_max, "nvmlDeviceGetMaxPcieLinkGeneration");
    find(pcie_width_max, "nvmlDeviceGetMaxPcieLinkWidth");
    find(nvlink_state, "nvmlDeviceGetNvLinkState");
    find(ecc, "nvmlDeviceGetEccMode");
    find(mig, "nvmlDeviceGetMigMode");
    find(persistence, "nvmlDeviceGetPersistenceMode");
    find(ecc_errors, "nvmlDeviceGetTotalEccErrors");
  }
};

namespace {

constexpr int kMultiprocessorClock = 1, kMemoryClock = 2;

// Returns the result of `function(gpu, arguments..., &value)` times `scale`.
template <class Value, class Function, class... Arguments>
std::optional<double> asked(double scale, Function function, void* gpu, Arguments... arguments) {
  Value value = 0;
  if (function == nullptr || function(gpu, arguments..., &value) != 0) return std::nullopt;
  return static_cast<double>(value) * scale;
}

// Returns whether a mode is on now; `function` gives its current and its pending state.
template <class Value>
std::optional<bool> mode_now(int (*function)(void*, Value*, Value*), void* gpu) {
  Value now = 0, pending = 0;
  if (function == nullptr || function(gpu, &now, &pending) != 0) return std::nullopt;
  return now != 0;
}

std::string limit_words(std::uint64_t limits) {
  struct Word {
    std::uint64_t bits;
    const char* word;
  };
  static constexpr Word words[] = {{Nvml::kIdle, "idle"},
                                   {Nvml::kClockSetting, "clock setting"},
                                   {Nvml::kSoftwarePowerCap, "power cap"},
                                   {Nvml::kSoftwareThermal | Nvml::kHardwareThermal, "thermal"},
                                   {Nvml::kPowerBrake, "power brake"},
                                   {Nvml::kHardwareSlowdown, "hardware slowdown"},
                                   {Nvml::kSyncBoost, "sync boost"}};
  std::string text;
  for (const Word& word : words)
    if ((limits & word.bits) != 0) text += (text.empty() ? "" : ", ") + std::string(word.word);
  return text;
}

}  // namespace

Nvml::Nvml(std::unique_ptr<Functions> functions) : functions_(std::move(functions)) {}
Nvml::~Nvml() { functions_->shutdown(); }

std::unique_ptr<Nvml> Nvml::load(const std::string& library) {
  auto functions = std::make_unique<Functions>();
  Functions& f = *functions;
  if (!f.load(library)) return nullptr;
  const bool complete = f.find(f.init, "nvmlInit_v2") && f.find(f.shutdown, "nvmlShutdown") &&
                        f.find(f.by_pci, "nvmlDeviceGetHandleByPciBusId_v2") &&
                        f.find(f.by_uuid, "nvmlDeviceGetHandleByUUID") &&
                        f.find(f.memory, "nvmlDeviceGetMemoryInfo");
  if (!complete || f.init() != 0) return nullptr;
  f.find_figures();
  return std::unique_ptr<Nvml>(new Nvml(std::move(functions)));
}

const Nvml* Nvml::instance() {
  // Leaked, as exit handlers of drivers are unreliable.
  static const Nvml* const only = load(kLibrary).release();
  return only;
}

Nvml::Handle Nvml::find(const Device& device) const {
  Handle handle = nullptr;
  // OpenCL gives the bare UUID; the prefix distinguishes a GPU from a part of one (MIG). Parts
  // share a PCI address, so UUIDs come first.
  if (device.uuid) {
    for (const char* prefix : {"MIG-", "GPU-"}) {
      if (functions_->by_uuid((prefix + *device.uuid).c_str(), &handle) == 0) return handle;
    }
  }
  if (device.pci && functions_->by_pci(device.pci->c_str(), &handle) == 0) return handle;
  return nullptr;
}

std::optional<Bytes> Nvml::free_memory(const Device& device) const {
  const Handle handle = find(device);
  Functions::Memory memory{};
  if (handle == nullptr || functions_->memory(handle, &memory) != 0) return std::nullopt;
  return memory.free;
}

NvmlFigures Nvml::figures(Handle gpu) const {
  constexpr int kGpuSensor = 0;
  const Functions& f = *functions_;
  NvmlFigures figures;
  figures.clock_mhz = asked<unsigned>(1, f.clock, gpu, kMultiprocessorClock);
  figures.memory_clock_mhz = asked<unsigned>(1, f.clock, gpu, kMemoryClock);
  figures.power_w = asked<unsigned>(1e-3, f.power, gpu);
  figures.temperature_c = asked<unsigned>(1, f.temperature, gpu, kGpuSensor);
  Functions::Utilisation busy{};
  if (f.utilisation != nullptr && f.utilisation(gpu, &busy) == 0)
    figures.utilisation = busy.gpu / 100.0;
  Functions::Memory memory{};
  if (f.memory(gpu, &memory) == 0) figures.memory_used = memory.used;
  unsigned long long limits = 0;
  if (f.clock_limits != nullptr && f.clock_limits(gpu, &limits) == 0) figures.clock_limits = limits;
  return figures;
}

std::optional<double> Nvml::energy(Handle gpu) const {
  return asked<unsigned long long>(1e-3, functions_->energy, gpu);
}

std::optional<double> Nvml::power_now(Handle gpu) const {
  constexpr unsigned kPowerInstant = 186, kUnsigned = 1;
  Functions::FieldValue field{};
  field.field = kPowerInstant;
  if (functions_->fields != nullptr && functions_->fields(gpu, 1, &field) == 0 &&
      field.result == 0 && field.type == kUnsigned)
    return field.value.number * 1e-3;
  return asked<unsigned>(1e-3, functions_->power, gpu);  // an average over a second of some GPUs
}

Nvml::PcieLink Nvml::pcie_link(Handle gpu) const {
  return {asked<unsigned>(1, functions_->pcie_generation, gpu),
          asked<unsigned>(1, functions_->pcie_width, gpu)};
}

DeviceState Nvml::state(Handle gpu) const {
  constexpr unsigned kNvLinksAtMost = 18;
  const Functions& f = *functions_;
  DeviceState state;
  const auto put = [&](Setting setting, const auto& value) {
    if (value) state[setting] = *value;
  };
  if (Handle whole = nullptr; f.whole_gpu != nullptr && f.whole_gpu(gpu, &whole) == 0) gpu = whole;
  put(Setting::power_limit, asked<unsigned>(1e-3, f.power_limit, gpu));
  put(Setting::clock_max, asked<unsigned>(1, f.clock_max, gpu, kMultiprocessorClock));
  put(Setting::memory_clock_max, asked<unsigned>(1, f.clock_max, gpu, kMemoryClock));
  put(Setting::application_clock,
      asked<unsigned>(1, f.application_clock, gpu, kMultiprocessorClock));
  put(Setting::application_memory_clock,
      asked<unsigned>(1, f.application_clock, gpu, kMemoryClock));
  put(Setting::pcie_generation_max, asked<unsigned>(1, f.pcie_generation_max, gpu));
  put(Setting::pcie_width_max, asked<unsigned>(1, f.pcie_width_max, gpu));
  std::optional<double> active;
  for (unsigned link = 0; link < kNvLinksAtMost; ++link) {
    const auto on = asked<int>(1, f.nvlink_state, gpu, link);
    if (!on) break;  // there are no more
    active = active.value_or(0) + (*on != 0 ? 1 : 0);
  }
  put(Setting::nvlinks_active, active);
  put(Setting::ecc, mode_now(f.ecc, gpu));
  put(Setting::mig, mode_now(f.mig, gpu));
  if (const auto on = asked<int>(1, f.persistence, gpu)) state[Setting::persistence] = *on != 0;
  unsigned long long limits = 0;
  if (f.clock_limits != nullptr && f.clock_limits(gpu, &limits) == 0)
    state[Setting::throttle] = limit_words(limits);
  return state;
}

std::optional<std::uint64_t> Nvml::ecc_errors(Handle gpu, bool uncorrected) const {
  const Functions& f = *functions_;
  if (Handle whole = nullptr; f.whole_gpu != nullptr && f.whole_gpu(gpu, &whole) == 0) gpu = whole;
  unsigned long long count = 0;
  constexpr int kSinceLoaded = 0;
  if (f.ecc_errors == nullptr || f.ecc_errors(gpu, uncorrected ? 1 : 0, kSinceLoaded, &count) != 0)
    return std::nullopt;
  return count;
}

std::optional<unsigned> Nvml::compute_processes(Handle gpu) const {
  constexpr int kSuccess = 0, kInsufficientSize = 7;
  if (functions_->processes == nullptr) return std::nullopt;
  unsigned count = 0;  // room for none: only the number is asked for
  const int result = functions_->processes(gpu, &count, nullptr);
  if (result != kSuccess && result != kInsufficientSize) return std::nullopt;
  return count;
}

}  // namespace mgpu
