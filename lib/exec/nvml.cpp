// See the header. Names, types and values as in the NVML API reference (docs.nvidia.com/deploy/nvml-api), which keeps them stable.
#include "lib/exec/nvml.hpp"

#include <dlfcn.h>

#include <initializer_list>

namespace mgpu {

struct Nvml::Functions {
  using Handle = void*;
  struct Memory {
    unsigned long long total, free, used;
  };
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*by_pci)(const char*, Handle*) = nullptr;
  int (*by_uuid)(const char*, Handle*) = nullptr;
  int (*memory)(Handle, Memory*) = nullptr;
  void* library = nullptr;

  ~Functions() {
    if (library != nullptr) ::dlclose(library);
  }
  template <class F>
  bool find(F& function, const char* name) {
    function = reinterpret_cast<F>(::dlsym(library, name));
    return function != nullptr;
  }
};

Nvml::Nvml(std::unique_ptr<Functions> functions) : functions_(std::move(functions)) {}
Nvml::~Nvml() { functions_->shutdown(); }

std::unique_ptr<Nvml> Nvml::load(const std::string& library) {
  auto functions = std::make_unique<Functions>();
  Functions& f = *functions;
  f.library = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (f.library == nullptr) return nullptr;
  const bool complete = f.find(f.init, "nvmlInit_v2") && f.find(f.shutdown, "nvmlShutdown") &&
                        f.find(f.by_pci, "nvmlDeviceGetHandleByPciBusId_v2") && f.find(f.by_uuid, "nvmlDeviceGetHandleByUUID") &&
                        f.find(f.memory, "nvmlDeviceGetMemoryInfo");
  if (!complete || f.init() != 0) return nullptr;
  return std::unique_ptr<Nvml>(new Nvml(std::move(functions)));
}

const Nvml* Nvml::instance() {
  // Leaked: exit handlers of drivers are not to be relied on.
  static const Nvml* const only = load(kLibrary).release();
  return only;
}

void* Nvml::handle_of(const Device& device) const {
  void* handle = nullptr;
  // OpenCL gives the bare UUID; a GPU and a part of one (MIG) differ in the prefix. Parts share a PCI address, so UUIDs come first.
  if (device.uuid) {
    for (const char* prefix : {"MIG-", "GPU-"}) {
      if (functions_->by_uuid((prefix + *device.uuid).c_str(), &handle) == 0) return handle;
    }
  }
  if (device.pci && functions_->by_pci(device.pci->c_str(), &handle) == 0) return handle;
  return nullptr;
}

std::optional<Bytes> Nvml::free_memory(const Device& device) const {
  void* const handle = handle_of(device);
  Functions::Memory memory{};
  if (handle == nullptr || functions_->memory(handle, &memory) != 0) return std::nullopt;
  return memory.free;
}

}  // namespace mgpu
