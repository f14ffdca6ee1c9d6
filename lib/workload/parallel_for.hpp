// A loop over independent indices on a few host threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <system_error>
#include <thread>
#include <vector>

#include "lib/workload/first_error.hpp"

namespace mgpu {

// Calls body(i) once for each i < n, on at most `threads` threads (at least one, fewer where the
// system has no more to give); returns when all are done. Where body throws, on whichever thread,
// no further index is begun and the first exception is thrown here as Error.
template <class Body>
void parallel_for(std::uint64_t n, unsigned threads, const Body& body) {
  std::atomic<std::uint64_t> next{0};
  FirstError error;
  const auto work = [&] {
    try {
      for (std::uint64_t i; !error.there() && (i = next.fetch_add(1)) < n;) body(i);
    } catch (...) {
      error.keep();
    }
  };
  {
    std::vector<std::jthread> others;
    try {
      for (std::uint64_t t = 1; t < std::min<std::uint64_t>(threads, n); ++t)
        others.emplace_back(work);
    } catch (const std::system_error&) {  // the threads there are do it all
    }
    work();
  }
  error.rethrow();
}

}  // namespace mgpu
