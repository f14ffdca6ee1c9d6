// What a device that hangs may still be using is never freed: its handles, buffers and the memory it transfers from. Releasing them
// can block for ever; the process leaves by _Exit, which gives everything back.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

namespace mgpu {

// Takes ownership for the rest of the process; leak checkers see it as in use.
template <class T>
void keep_for_ever(std::unique_ptr<T> object) {
  static auto& kept = *new std::vector<std::unique_ptr<T>>;
  static auto& mutex = *new std::mutex;
  const std::lock_guard lock(mutex);
  kept.push_back(std::move(object));
}

}  // namespace mgpu
