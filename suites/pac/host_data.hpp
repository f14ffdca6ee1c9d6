// A problem's numbers in host memory: one page-aligned block, pinned as a whole, with the series,
// the results, and for --axis permutation a partial result per device.
#pragma once

#include "lib/workload/pages.hpp"
#include "suites/pac/problem.hpp"

namespace mgpu::pac {

class HostData {
 public:
  // Makes seeded series, each of which depends only on the seed and its index, or reads them from
  // the file of --input. Throws Error(input), Error(out_of_memory).
  HostData(const Problem& problem, const SuiteParams& params);

  static Bytes bytes(const Problem& problem, std::size_t devices);

  std::span<const std::byte> all() const { return {pages_.data(), size_}; }
  std::span<const float> series() const {
    return {reinterpret_cast<const float*>(pages_.data()), input_size_ / sizeof(float)};
  }
  std::span<Moments> result() { return moments(0); }
  std::span<const Moments> result() const { return const_cast<HostData*>(this)->moments(0); }
  std::size_t parts() const { return parts_; }
  std::span<Moments> part(std::size_t i) { return moments(i + 1); }

 private:
  std::span<Moments> moments(std::size_t i) {
    return {reinterpret_cast<Moments*>(pages_.data() + in_pages(input_size_) +
                                       i * in_pages(result_size_)),
            result_size_ / sizeof(Moments)};
  }

  Bytes input_size_, result_size_;
  std::size_t parts_;
  Bytes size_;
  Pages pages_;
};

}  // namespace mgpu::pac
