// The first exception that the threads of a loop throw, kept for whoever started the loop: one that
// left a thread would end the process.
#pragma once

#include <atomic>
#include <exception>
#include <mutex>
#include <new>
#include <utility>

#include "lib/base/error.hpp"

namespace mgpu {

class FirstError {
 public:
  // To be called in a catch block, by any thread. Later ones are dropped.
  void keep() noexcept {
    const std::scoped_lock lock(mutex_);
    if (!error_) error_ = std::current_exception();
    there_ = true;
  }
  bool there() const { return there_.load(std::memory_order_relaxed); }

  // When all threads are done: throws what was kept, if anything, and forgets it. Always an Error:
  // exhausted host memory is out_of_memory, any other exception internal.
  void rethrow() {
    if (!there_) return;
    const std::exception_ptr error = std::exchange(error_, nullptr);
    there_ = false;
    try {
      std::rethrow_exception(error);
    } catch (const Error&) {
      throw;
    } catch (const std::bad_alloc&) {
      throw Error(ErrorKind::out_of_memory, "host memory is exhausted");
    } catch (const std::exception& other) {
      throw Error(ErrorKind::internal, other.what());
    } catch (...) {
      throw Error(ErrorKind::internal, "an exception that is none of the standard library's");
    }
  }

 private:
  std::mutex mutex_;
  std::exception_ptr error_;
  std::atomic<bool> there_{false};
};

}  // namespace mgpu
