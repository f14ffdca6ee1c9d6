// A problem's numbers in host memory: one page-aligned block, pinned as a whole, with the series,
// the results, and for --axis permutation a partial result per device. Series of a folder are read
// during samples: the block then has room for those that devices have in flight.
#pragma once

#include "lib/workload/pages.hpp"
#include "suites/pac/problem.hpp"
#include "suites/pac/recordings.hpp"

namespace mgpu::pac {

class HostData {
 public:
  // Makes seeded series, each of which depends only on the seed and its index, or reads them from
  // the file of --input, unless that is a folder. Throws Error(input), Error(out_of_memory).
  HostData(const Problem& problem, const SuiteParams& params);

  static Bytes bytes(const Problem& problem, std::size_t devices);

  std::span<const std::byte> all() const { return {pages_.data(), size_}; }
  // Returns all series; of a folder, the memory for stages().
  std::span<const float> series() const {
    return {reinterpret_cast<const float*>(pages_.data()), input_size_ / sizeof(float)};
  }
  const Recordings* recordings() const { return recordings_.get(); }  // null: no folder
  // Number of stages, of which each has room for Problem::staged() entries of a folder.
  std::size_t stages() const { return stages_; }
  std::span<float> stage(std::size_t i) {
    const std::size_t size = input_size_ / sizeof(float) / stages_;
    return {reinterpret_cast<float*>(pages_.data()) + i * size, size};
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

  std::shared_ptr<const Recordings> recordings_;
  std::size_t stages_;
  Bytes input_size_, result_size_;
  std::size_t parts_;
  Bytes size_;
  Pages pages_;
};

}  // namespace mgpu::pac
