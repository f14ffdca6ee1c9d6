// Memory of an NVIDIA GPU, or of the host, that the OpenCL contexts of NVIDIA GPUs can import: made
// by the CUDA driver API, which is part of the driver and loaded at run time where there is one. No
// header and no link to it is needed, and no CUDA context is made. How it is used, and why, is in
// lib/exchange/README.md.
#pragma once

#include <memory>
#include <string>

#include "lib/device/device.hpp"

namespace mgpu {

// An open file descriptor, closed by the destructor.
class FileDescriptor {
 public:
  explicit FileDescriptor(int fd = -1) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept;
  FileDescriptor& operator=(FileDescriptor&& other) noexcept;
  ~FileDescriptor();
  int get() const { return fd_; }
  // Another one of the same; -1 when there are too many. The caller's.
  int duplicate() const;
  void release() { fd_ = -1; }  // somebody else closes it

 private:
  int fd_;
};

class CudaMemory {
 public:
  static constexpr const char* kLibrary = "libcuda.so.1";

  // The process's own, loaded at the first call and never unloaded. Thread-safe. Where it cannot be
  // loaded, lacks a function or does not start, `why` says so.
  struct Loaded {
    std::unique_ptr<CudaMemory> memory;  // null: see `why`
    std::string why;
  };
  static const Loaded& instance();
  static Loaded load(const std::string& library);
  ~CudaMemory();

  // Memory of `size` bytes or somewhat more on the device, which lives for as long as the
  // descriptor or an import of it. Throws Error(unsupported) for a device that the driver does not
  // know by its UUID or cannot export memory of, Error(out_of_memory).
  FileDescriptor make(const Device& device, Bytes size) const;
  // Likewise of the host, pinned: kernels of all GPUs see in it what others store there while they
  // run, which they do not in OpenCL's own pinned memory.
  FileDescriptor make_on_host(Bytes size) const;

 private:
  struct Functions;
  FileDescriptor make(const std::string& what, int location_type, int location, Bytes size) const;
  explicit CudaMemory(std::unique_ptr<Functions> functions);
  std::unique_ptr<Functions> functions_;
};

}  // namespace mgpu
