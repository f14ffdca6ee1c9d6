// A loop over independent indices on a few host threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <system_error>
#include <thread>
#include <vector>

#include "lib/base/units.hpp"
#include "lib/workload/first_error.hpp"

namespace mgpu {

// Calls body(i) once for each i < n, on at most `threads` threads (at least one, fewer if the
// system cannot start more), each of which takes `at_once` indices at a time. Returns when all are
// done. If body throws on any thread, no further indices are begun, and the first exception is
// thrown here as an Error.
template <class Body>
void parallel_for(std::uint64_t n, unsigned threads, const Body& body, std::uint64_t at_once = 1) {
  std::atomic<std::uint64_t> next{0};
  FirstError error;
  const auto work = [&] {
    try {
      for (std::uint64_t i; !error.there() && (i = next.fetch_add(at_once)) < n;)
        for (const std::uint64_t end = std::min(n, i + at_once); i < end; ++i) body(i);
    } catch (...) {
      error.keep();
    }
  };
  {
    std::vector<std::jthread> others;
    try {
      for (std::uint64_t t = 1; t < std::min<std::uint64_t>(threads, ceil_div(n, at_once)); ++t)
        others.emplace_back(work);
    } catch (const std::system_error&) {  // the threads that were started do all the work
    }
    work();
  }
  error.rethrow();
}

}  // namespace mgpu
