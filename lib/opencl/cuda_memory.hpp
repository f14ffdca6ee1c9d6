// Memory of an NVIDIA GPU, or of the host, that the OpenCL contexts of NVIDIA GPUs can import. It
// is made by the CUDA driver API, which is part of the driver and loaded at run time if it is
// there. No header and no link to it is needed, and no CUDA context is made. lib/exchange/README.md
// explains how and why it is used.
#pragma once

#include <cstddef>
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
  // Returns another descriptor of the same file, which the caller owns; -1 when there are too many.
  int duplicate() const;
  void release() { fd_ = -1; }  // something else closes it

 private:
  int fd_;
};

class CudaMemory {
 public:
  static constexpr const char* kLibrary = "libcuda.so.1";

  // The library, loaded by the process at the first call and never unloaded. Thread-safe. If it
  // cannot be loaded, lacks a function or does not start, `why` says so.
  struct Loaded {
    std::unique_ptr<CudaMemory> memory;  // null: see `why`
    std::string why;
  };
  static const Loaded& instance();
  static Loaded load(const std::string& library);
  ~CudaMemory();

  // Allocates `size` bytes or somewhat more on the device, which live for as long as the descriptor
  // or an import of it. Throws Error(unsupported) for a device that the driver does not know by its
  // UUID or cannot export memory of, Error(out_of_memory).
  FileDescriptor make(const Device& device, Bytes size) const;
  // Allocates pinned memory of the host in the same way. Kernels of all GPUs see in it what others
  // store there while they run, which they do not in OpenCL's own pinned memory.
  FileDescriptor make_on_host(Bytes size) const;

  // Maps memory that make() returned for the device to an address that libraries over CUDA take,
  // for as long as a copy of the result exists. Throws Error(unsupported).
  std::shared_ptr<std::byte> map(const FileDescriptor& memory, const Device& device,
                                 Bytes size) const;
  // Makes the device's primary context current in this thread, which such libraries need, and
  // creates it. Throws Error(unsupported).
  void enter(const Device& device) const;

 private:
  struct Functions;
  int ordinal_of(const Device& device, const std::string& what) const;
  FileDescriptor make(const std::string& what, int location_type, int location, Bytes size) const;
  explicit CudaMemory(std::unique_ptr<Functions> functions);
  std::shared_ptr<Functions> functions_;  // mappings need them, too
};

}  // namespace mgpu
