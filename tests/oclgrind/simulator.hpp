// The device that Oclgrind simulates, and workarounds that its users need.
#pragma once

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <dlfcn.h>

#include <memory>
#include <string>
#include <vector>

#include "lib/base/embedded.hpp"
#include "lib/opencl/cl_backend.hpp"

namespace mgpu::test {

// When it looks for values that were never written, Oclgrind 21.10 crashes in threads that write
// and have not made a context. The backend uses separate threads to make contexts and to build
// programs, which writes their constants.
inline void let_this_thread_write() {
  // It is not among the functions that lib/opencl finds.
  static const auto make = reinterpret_cast<decltype(&clCreateContextFromType)>(
      ::dlsym(::dlopen("libOpenCL.so.1", RTLD_NOW), "clCreateContextFromType"));
  make(nullptr, CL_DEVICE_TYPE_ALL, nullptr, nullptr, nullptr);
}

// Returns kernels/*.cl without the PTX of peer_ptx.cl, which only NVIDIA's compiler can read.
// Awaited data is there before a launch or does not come: a limit of ~0 expires at once.
inline std::span<const EmbeddedText> kernels_without_ptx() {
  static std::vector<EmbeddedText>& texts =
      *new std::vector<EmbeddedText>(embedded_kernels().begin(), embedded_kernels().end());
  static std::string& plain = *new std::string(
      "inline uint load_acquire(__global uint* from) { return *(volatile __global uint*)from; }\n"
      "inline void fence_release(void) {}\n"
      "inline void store_flag(__global uint* to, uint value) { *(volatile __global uint*)to = "
      "value; }\n"
      "inline void store_release(__global uint* to, uint value) { store_flag(to, value); }\n"
      "inline ulong now_ns(void) { return 1; }\n");
  for (EmbeddedText& each : texts) {
    if (each.file != "peer_ptx.cl" || each.text == plain) continue;
    plain += each.text.substr(each.text.find("inline void await_flag"));
    each.text = plain;
  }
  return texts;
}

// Returns one device, which is never released: when static objects are destroyed, Oclgrind has
// nothing left to release it with.
inline OpenDevice& simulator() {
  let_this_thread_write();
  static Backend& backend = *make_cl_backend({kernels_without_ptx(), {}}).release();
  static OpenDevice& device = *backend.open(backend.enumerate().devices.at(0)).release();
  return device;
}

inline void finish(OpenDevice& device) {
  const BatchId batch = device.submit();
  while (!device.complete(batch)) {
  }
  device.take(batch);
}

// Resources that claim to be a CPU's or a GPU's: the simulator says that it is a GPU of no vendor.
// Unrolled kernels take minutes to compile for it.
class Disguised final : public DeviceResources {
 public:
  Disguised(OpenDevice& device, bool cpu)
      : device_(device), real_(device.resources()), traits_(real_.traits()) {
    traits_.cpu = cpu;
  }
  const DeviceTraits& traits() const override { return traits_; }
  // Returns a buffer full of bytes that no kernel may use. Oclgrind 21.10 stops tracking a buffer
  // of which the host wrote a part before all of it; values never written in it show as wrong
  // results.
  std::unique_ptr<Buffer> allocate(Bytes size) override {
    auto buffer = real_.allocate(size);
    const std::vector<std::byte> poison(size, std::byte{0xa5});
    device_.stream().upload(*buffer, 0, poison);
    finish(device_);
    return buffer;
  }
  std::unique_ptr<Kernel> kernel(std::string_view file, std::string_view entry,
                                 const std::string& options) override {
    const bool has = options.find("MSM_ROLLED") != std::string::npos;  // on CPUs
    return real_.kernel(file, entry, options + (has ? "" : " -DMSM_ROLLED") + " -DROLLED");
  }
  std::unique_ptr<Kernel> foreign_kernel(const KernelSource& source, std::string_view entry,
                                         const std::string& options) override {
    return real_.foreign_kernel(source, entry, options);
  }
  std::optional<Nanos> try_out(const std::function<void(Stream&)>& commands) override {
    return real_.try_out(commands);
  }

 private:
  OpenDevice& device_;
  DeviceResources& real_;
  DeviceTraits traits_;
};

}  // namespace mgpu::test
