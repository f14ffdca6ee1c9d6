// Parts of buffers that kernels are given, kept from one slice to the next.
#pragma once

#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "lib/workload/stream.hpp"

namespace mgpu::kernel {

// Frees the youngest first: NVIDIA's driver (580.159.04) ends the process when a part is freed
// before a younger one that overlaps it, begins elsewhere and was given to a kernel.
class Parts {
 public:
  static constexpr std::size_t kMany = 4096;

  explicit Parts(DeviceResources& device) : device_(device) {}
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;
  ~Parts() { clear(); }

  // `size` bytes of `whole` from `offset` on. What it returns lives until forget_many() or as long
  // as this.
  Buffer& of(Buffer& whole, Bytes offset, Bytes size) {
    Buffer*& found = known_[{&whole, offset, size}];
    if (found == nullptr) found = made_.emplace_back(device_.part(whole, offset, size)).get();
    return *found;
  }

  // While no kernel uses any of them: frees all where there are more than kMany.
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
      known_;  // thousands, and looked up for each argument of each slice
  std::vector<std::unique_ptr<Buffer>> made_;
};

}  // namespace mgpu::kernel
