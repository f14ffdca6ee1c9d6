// A loop over independent indices on a few host threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace mgpu {

// Calls body(i) once for each i < n, on at most `threads` threads (at least one); returns when all are done. body must not throw.
template <class Body>
void parallel_for(std::uint64_t n, unsigned threads, const Body& body) {
  std::atomic<std::uint64_t> next{0};
  const auto work = [&] {
    for (std::uint64_t i; (i = next.fetch_add(1)) < n;) body(i);
  };
  std::vector<std::jthread> others;
  for (std::uint64_t t = 1; t < std::min<std::uint64_t>(threads, n); ++t) others.emplace_back(work);
  work();
}

}  // namespace mgpu
