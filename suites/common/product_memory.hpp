// Host memory of a product: A, B, the C that is read, the C that is written, and a second result.
// It is one page-aligned range, so that it can be pinned in place as a whole.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "lib/workload/pages.hpp"
#include "suites/common/product_sizes.hpp"

namespace mgpu::product {

class ProductMemory {
 public:
  // Allocates without initializing. Throws Error(out_of_memory).
  explicit ProductMemory(const ProductSizes& sizes)
      : a_size_(sizes.a_bytes()),
        b_at_(in_pages(a_size_)),
        b_size_(sizes.b_bytes()),
        c_in_at_(b_at_ + in_pages(b_size_)),
        c_in_size_(sizes.c_in_bytes()),
        c_at_(c_in_at_ + in_pages(c_in_size_)),
        c_size_(sizes.c_bytes()),
        paths_size_(sizes.path_bytes()),
        size_(c_at_ + in_pages(c_size_ + paths_size_)),
        pages_(size_, "matrices of " + std::to_string(size_) + " bytes") {}

  std::span<const std::byte> all() const { return {pages_.data(), size_}; }
  std::span<const std::byte> a() const { return all().subspan(0, a_size_); }
  std::span<const std::byte> b() const { return all().subspan(b_at_, b_size_); }
  std::span<const std::byte> c_in() const {
    return all().subspan(c_in_at_, c_in_size_);
  }  // empty if no C is read
  std::span<std::byte> c() { return {pages_.data() + c_at_, c_size_}; }
  std::span<const std::byte> c() const { return all().subspan(c_at_, c_size_); }
  std::span<std::byte> paths() {
    return {pages_.data() + c_at_ + c_size_, paths_size_};
  }  // empty if there is no second result
  std::span<const std::byte> paths() const { return all().subspan(c_at_ + c_size_, paths_size_); }
  // C and the second result.
  std::span<std::byte> results() { return {pages_.data() + c_at_, c_size_ + paths_size_}; }
  std::span<const std::byte> results() const { return all().subspan(c_at_, c_size_ + paths_size_); }

 protected:
  // Returns an operand for writing.
  std::span<std::byte> operand(std::span<const std::byte> of) {
    return {pages_.data() + (of.data() - pages_.data()), of.size()};
  }

 private:
  Bytes a_size_, b_at_, b_size_, c_in_at_, c_in_size_, c_at_, c_size_, paths_size_, size_;
  Pages pages_;
};

}  // namespace mgpu::product
