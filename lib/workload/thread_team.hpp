// A loop over independent indices, as lib/workload/parallel_for.hpp, on threads that stay: for
// loops of less than a millisecond.
#pragma once

#include <atomic>
#include <cstdint>
#include <system_error>
#include <thread>
#include <vector>

#include "lib/workload/first_error.hpp"

namespace mgpu {

class ThreadTeam {
 public:
  // Of at most so many threads (at least one), of which whoever calls for_each() is one. The others
  // start with the first loop.
  explicit ThreadTeam(unsigned threads) : others_(threads > 1 ? threads - 1 : 0) {}
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;
  ~ThreadTeam() {
    stopping_ = true;
    wake();
  }

  // Calls body(i) once for each i < n; returns when all are done. One loop at a time. Where body
  // throws, on whichever thread, no further index is begun and the first exception is thrown here
  // as Error; the team is as good as new.
  template <class Body>
  void for_each(std::uint64_t n, const Body& body) {
    start();
    body_ = [](const void* object, std::uint64_t i) { (*static_cast<const Body*>(object))(i); };
    object_ = &body;
    n_ = n;
    next_ = 0;
    open_ = true;
    wake();
    work();
    // Whoever comes from now on sees it closed; those that came before are waited for (all accesses
    // are in one order).
    open_ = false;
    while (helping_ > 0) std::this_thread::yield();
    error_.rethrow();
  }

 private:
  void start() {
    try {
      while (threads_.size() < others_) threads_.emplace_back([this] { help(); });
    } catch (const std::system_error&) {  // the system has no more threads to give: the loops go on
                                          // with these
      others_ = threads_.size();
    }
  }
  void wake() {
    ++loops_;
    loops_.notify_all();
  }
  void help() {
    for (int seen = 0;;) {
      loops_.wait(seen);
      seen = loops_;
      if (stopping_) return;
      ++helping_;
      if (open_) work();
      --helping_;
    }
  }
  void work() {
    try {
      for (std::uint64_t i; !error_.there() && (i = next_.fetch_add(1)) < n_;) body_(object_, i);
    } catch (...) {
      error_.keep();
    }
  }

  std::size_t others_;
  // Of the loop under way; written only while nobody helps.
  void (*body_)(const void*, std::uint64_t) = nullptr;
  const void* object_ = nullptr;
  std::uint64_t n_ = 0;
  FirstError error_;
  std::atomic<std::uint64_t> next_{0};
  std::atomic<bool> open_{false}, stopping_{false};
  std::atomic<int> helping_{0};
  std::atomic<int> loops_{0};          // begun; an int, which the operating system can wait for
  std::vector<std::jthread> threads_;  // last: joined before what they use is destroyed
};

}  // namespace mgpu
