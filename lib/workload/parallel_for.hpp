// A loop over independent indices on a few host threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "lib/base/units.hpp"
#include "lib/workload/thread_team.hpp"

namespace mgpu {

// Threads that the loops of the process share. A loop that begins while another runs, on another
// thread or inside it, has threads of its own.
class SharedTeam {
 public:
  SharedTeam() : mine_(!taken().test_and_set()) {}
  ~SharedTeam() {
    if (mine_) taken().clear();
  }
  SharedTeam(const SharedTeam&) = delete;
  SharedTeam& operator=(const SharedTeam&) = delete;

  // Returns the shared threads; null: they are taken.
  ThreadTeam* get() const {
    static ThreadTeam team(kMost);
    return mine_ ? &team : nullptr;
  }

 private:
  static constexpr unsigned kMost = 1024;
  static std::atomic_flag& taken() {
    static std::atomic_flag flag;
    return flag;
  }
  bool mine_;
};

// Calls body(i) once for each i < n, on at most `threads` threads (at least one, fewer if the
// system cannot start more), each of which takes `at_once` indices at a time. Returns when all are
// done. If body throws on any thread, no further indices are begun, and the first exception is
// thrown here as an Error.
template <class Body>
void parallel_for(std::uint64_t n, unsigned threads, const Body& body, std::uint64_t at_once = 1) {
  const std::uint64_t parts = ceil_div(n, at_once);
  const auto each = [&](std::uint64_t part) {
    const std::uint64_t begin = part * at_once, end = std::min(n, begin + at_once);
    for (std::uint64_t i = begin; i < end; ++i) body(i);
  };
  const auto most = static_cast<unsigned>(std::min<std::uint64_t>(threads, parts));
  const SharedTeam shared;
  if (most > 1 && shared.get() != nullptr) return shared.get()->for_each(parts, each, most);
  ThreadTeam(most).for_each(parts, each);
}

}  // namespace mgpu
