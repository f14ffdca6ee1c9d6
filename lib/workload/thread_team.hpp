// A loop over independent indices on threads that persist: starting 64 takes 3.5 ms.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <system_error>
#include <thread>
#include <vector>

#include "lib/base/numa.hpp"
#include "lib/workload/first_error.hpp"

namespace mgpu {

class ThreadTeam {
 public:
  // Uses at most `threads` threads (at least one), including the caller of for_each(). The others
  // start with the first loop.
  explicit ThreadTeam(unsigned threads) : others_(threads > 1 ? threads - 1 : 0) {}
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;
  ~ThreadTeam() {
    stopping_ = true;
    wake();
  }

  // Calls body(i) once for each i < n, on at most `most` threads; returns when all are done. Runs
  // one loop at a time. If body throws on any thread, no further index is begun, and the first
  // exception is thrown here as an Error; the team can be used again.
  template <class Body>
  void for_each(std::uint64_t n, const Body& body, unsigned most = ~0U) {
    helpers_ = std::min<std::size_t>(others_, most > 1 ? most - 1 : 0);
    start();
    joined_ = 0;
    body_ = [](const void* object, std::uint64_t i) { (*static_cast<const Body*>(object))(i); };
    object_ = &body;
    n_ = n;
    next_ = 0;
    open_ = true;
    wake();
    work();
    // A thread that wakes up from now on sees the loop closed; threads that came before are
    // waited for (all accesses are in one order).
    open_ = false;
    while (helping_ > 0) std::this_thread::yield();
    error_.rethrow();
  }

 private:
  void start() {
    try {
      while (threads_.size() < helpers_)
        threads_.emplace_back([this] {
          unbind_inherited();
          help();
        });
      // The system cannot start more threads: the loops use those that there are.
    } catch (const std::system_error&) {
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
      if (open_ && joined_.fetch_add(1) < helpers_) work();
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
  // State of the current loop; written only while no other thread helps.
  std::size_t helpers_ = 0;
  void (*body_)(const void*, std::uint64_t) = nullptr;
  const void* object_ = nullptr;
  std::uint64_t n_ = 0;
  FirstError error_;
  std::atomic<std::uint64_t> next_{0};
  std::atomic<std::size_t> joined_{0};
  std::atomic<bool> open_{false}, stopping_{false};
  std::atomic<int> helping_{0};
  // Number of loops begun; an int, which the operating system can wait for.
  std::atomic<int> loops_{0};
  // Last member: joined before what the threads use is destroyed.
  std::vector<std::jthread> threads_;
};

}  // namespace mgpu
