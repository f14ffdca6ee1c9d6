// Which items' results are on the host, and no result of a sample before in their place.
#pragma once

#include <cstddef>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "lib/plan/slice_source.hpp"
#include "lib/workload/workload.hpp"

namespace mgpu {

class Arrivals {
 public:
  Arrivals(Items items, unsigned host_threads)
      : host_threads_(host_threads), arrived_(items, false) {}

  // Results are poisoned once they were looked at, so that one nobody computes again cannot pass;
  // before every sample that would cost as much as the transfers. All bits are set: not a number.
  void begin_sample(std::span<std::byte> results);
  std::uint64_t sample() const { return sample_; }  // its number
  void arrived(std::span<const Slice> slices);      // from several threads at once
  // Before results are verified: a verdict already where some did not arrive, in words such as
  // "parts of C".
  std::optional<Verdict> look(const char* what);

 private:
  unsigned host_threads_;
  std::uint64_t sample_ = 0;
  bool looked_at_ = true;
  std::mutex mutex_;  // over arrived_
  std::vector<bool> arrived_;
};

}  // namespace mgpu
