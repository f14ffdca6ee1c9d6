// The OpenCL backend: every device of every platform, one context per device (a context shared
// between NVIDIA GPUs serialises them), three in-order queues each, programs cached on disk.
#pragma once

#include <filesystem>
#include <memory>
#include <span>

#include "lib/base/embedded.hpp"
#include "lib/exec/backend.hpp"

namespace mgpu {

struct ClBackendOptions {
  // Kernel texts, which DeviceResources::kernel finds by file name; must outlive the backend.
  std::span<const EmbeddedText> kernels;
  std::filesystem::path cache_dir;  // folder of built programs; empty: no cache
};

std::unique_ptr<Backend> make_cl_backend(const ClBackendOptions& options);

}  // namespace mgpu
