// Cache of the sub-buffers that kernels are given, kept from slice to slice.
#pragma once

#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "lib/workload/stream.hpp"

namespace mgpu::kernel {

// Frees the youngest first: NVIDIA's driver (580.159.04) ends the process when a sub-buffer is
// freed before a younger one that overlaps it, begins elsewhere and was given to a kernel.
class Parts {
 public:
  static constexpr std::size_t kMany = 4096;

  explicit Parts(DeviceResources& device) : device_(device) {}
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;
  ~Parts() { clear(); }

  // Returns `size` bytes of `whole` from `offset` on. The sub-buffer lives until forget_many() or
  // until this object is destroyed.
  Buffer& of(Buffer& whole, Bytes offset, Bytes size) {
    Buffer*& found = known_[{&whole, offset, size}];
    if (found == nullptr) found = made_.emplace_back(device_.part(whole, offset, size)).get();
    return *found;
  }

  // Frees all if there are more than kMany. Must not be called while a kernel uses one of them.
  void forget_many() {
    if (made_.size() > kMany) clear();
  }

 private:
  void clear() {
    known_.clear();
    while (!made_.empty()) made_.pop_back();
  }

  DeviceResources& device_;
  struct Which {
    Buffer* whole;
    Bytes offset, size;
    bool operator==(const Which&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Which& which) const {
      const std::hash<Bytes> number;
      return (std::hash<Buffer*>()(which.whole) * 31 + number(which.offset)) * 0x9E3779B97F4A7C15 +
             number(which.size);
    }
  };
  std::unordered_map<Which, Buffer*, Hash>
      known_;  // thousands of entries, looked up per argument and slice
  std::vector<std::unique_ptr<Buffer>> made_;
};

}  // namespace mgpu::kernel
