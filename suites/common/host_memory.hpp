// Host memory that transfers use: page-aligned, so that the executor can pin it in place.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>

#include "lib/base/error.hpp"
#include "lib/base/units.hpp"

namespace mgpu {

class HostMemory {
 public:
  static constexpr Bytes page = 4096;
  static constexpr Bytes paged(Bytes size) { return (size + page - 1) / page * page; }

  HostMemory() = default;
  // Not initialised. Throws Error(out_of_memory).
  explicit HostMemory(Bytes size) : size_(size), data_(static_cast<std::byte*>(std::aligned_alloc(page, paged(size + 1)))) {
    if (!data_) throw Error(ErrorKind::out_of_memory, "no host memory for " + std::to_string(size) + " bytes");
  }
  std::span<std::byte> bytes() { return {data_.get(), size_}; }
  std::span<const std::byte> bytes() const { return {data_.get(), size_}; }

 private:
  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };
  Bytes size_ = 0;
  std::unique_ptr<std::byte, Free> data_;
};

}  // namespace mgpu
