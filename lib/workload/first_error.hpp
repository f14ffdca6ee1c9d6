// First exception that the threads of a loop throw, saved for the caller of the loop. An exception
// that leaves a thread would end the process.
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
  // Saves the current exception, if it is the first. To be called in a catch block, by any
  // thread.
  void keep() noexcept {
    const std::scoped_lock lock(mutex_);
    if (!error_) error_ = std::current_exception();
    there_ = true;
  }
  bool there() const { return there_.load(std::memory_order_relaxed); }

  // Throws the saved exception, if there is one, and forgets it. To be called when all threads
  // are done. Always throws an Error: exhausted host memory is out_of_memory, any other exception
  // internal.
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
