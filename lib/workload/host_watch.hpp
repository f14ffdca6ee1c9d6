// Watches work of a workload on the host that may take long, such as a reference: reports its
// progress and stops it once its result is no longer wanted.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <thread>

#include "lib/base/error.hpp"
#include "lib/base/units.hpp"
#include "lib/workload/parallel_for.hpp"

namespace mgpu {

// Number of parts of a verification.
struct HostWork {
  // Name of the parts: "phase bands".
  std::string parts;
  std::uint64_t total;  // number of parts of a `full` verification
  std::string sample;   // number of parts of a `sample` verification, "20 of them"; empty: the same
};

struct HostWatch {
  // Both functions are called on the thread that called the workload, and may be null. `stop`
  // returns whether the result is no longer wanted.
  std::function<bool()> stop;
  // Reports how many parts are done.
  std::function<void(const HostWork& work, std::uint64_t done)> progress;
  // Time limit of a user's program that the workload runs; 0: no limit.
  Nanos command_limit{};

  // Throws Error(interrupted) when stopped.
  void go_on() const {
    if (stop && stop()) throw Error(ErrorKind::interrupted, "stopped during the verification");
  }
};

// Runs parallel_for over `count` parts of the work, under the watch. Also throws
// Error(interrupted).
template <class Body>
void watched_for(const HostWatch& watch, const HostWork& work, std::uint64_t count,
                 unsigned threads, const Body& body) {
  std::atomic<std::uint64_t> done{0};
  const std::thread::id mine = std::this_thread::get_id();
  if (watch.progress) watch.progress(work, 0);
  parallel_for(count, threads, [&](std::uint64_t i) {
    const bool asks = std::this_thread::get_id() == mine;
    if (asks) watch.go_on();
    body(i);
    const std::uint64_t so_far = ++done;
    if (asks && watch.progress) watch.progress(work, so_far);
  });
}

}  // namespace mgpu
