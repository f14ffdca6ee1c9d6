// Tracks which items' results of the current sample have arrived on the host.
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

  // Starts a sample. Sets all bits of `results` (NaN) if they were looked at since, so that a
  // result that is not computed again cannot pass verification. Doing it before every sample would
  // cost as much as the transfers.
  void begin_sample(std::span<std::byte> results);
  std::uint64_t sample() const { return sample_; }  // number of the current sample
  void arrived(std::span<const Slice> slices);      // thread-safe
  // Checks arrivals before results are verified: returns a failed verdict if some did not arrive.
  // `what` names them in the message, such as "parts of C".
  std::optional<Verdict> look(const char* what);

 private:
  unsigned host_threads_;
  std::uint64_t sample_ = 0;
  bool looked_at_ = true;
  std::mutex mutex_;  // guards arrived_
  std::vector<bool> arrived_;
};

}  // namespace mgpu
