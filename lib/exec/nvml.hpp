// NVIDIA's management library, loaded at run time where there is one: what OpenCL does not tell about a GPU. No header and no link
// to it is needed; without it every question is answered by "not known".
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "lib/device/device.hpp"

namespace mgpu {

class Nvml {
 public:
  static constexpr const char* kLibrary = "libnvidia-ml.so.1";

  // The process's own, loaded at the first call and never unloaded; null when it cannot be loaded or does not start. Thread-safe.
  static const Nvml* instance();
  // Null likewise.
  static std::unique_ptr<Nvml> load(const std::string& library);
  ~Nvml();

  // Of the GPU, or the part of one, with the device's UUID or PCI address; nothing when it is none of NVIDIA's.
  std::optional<Bytes> free_memory(const Device& device) const;

 private:
  struct Functions;
  explicit Nvml(std::unique_ptr<Functions> functions);
  void* handle_of(const Device& device) const;  // null: not found

  std::unique_ptr<Functions> functions_;
};

}  // namespace mgpu
