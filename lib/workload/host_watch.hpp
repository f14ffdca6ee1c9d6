// Work of a workload on the host that may take long, such as a reference: whether anybody still
// waits for it, and how far it is.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <thread>

#include "lib/base/error.hpp"
#include "lib/base/units.hpp"
#include "lib/workload/parallel_for.hpp"

namespace mgpu {

// Parts of a verification.
struct HostWork {
  std::string parts;    // "phase bands"
  std::uint64_t total;  // that `full` takes
  std::string sample;   // what `sample` takes instead, "20 of them"; empty: as much
};

struct HostWatch {
  // Both are called on the thread that called the workload, and may be null. True: nobody wants
  // the result any more.
  std::function<bool()> stop;
  // Tells how many parts are done.
  std::function<void(const HostWork& work, std::uint64_t done)> progress;
  // How long a program of the user's may take that the workload runs; 0: no limit.
  Nanos command_limit{};

  // Throws Error(interrupted) when stopped.
  void go_on() const {
    if (stop && stop()) throw Error(ErrorKind::interrupted, "stopped during the verification");
  }
};

// parallel_for over `count` parts of the work, under the watch. Throws Error(interrupted), too.
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
