// How a worker calls its device's driver, which may not return: for the files of DeviceWorker only.
#pragma once

#include <type_traits>

#include "lib/exec/worker.hpp"

namespace mgpu {

template <class Function>
auto DeviceWorker::driver(Function&& function) {
  const std::uint64_t call = calls_.load(std::memory_order_relaxed) + 1;
  calls_.store(call, std::memory_order_release);
  struct Return {
    DeviceWorker& worker;
    std::uint64_t call;
    bool was_given_up() { return !worker.calls_.compare_exchange_strong(call, call + 1); }
  } back{*this, call};
  try {
    if constexpr (std::is_void_v<decltype(function())>) {
      function();
      if (back.was_given_up()) throw Abandoned{};
    } else {
      auto result = function();
      if (back.was_given_up()) throw Abandoned{};
      return result;
    }
  } catch (const Abandoned&) {
    throw;
  } catch (...) {
    if (back.was_given_up()) throw Abandoned{};
    throw;
  }
}

}  // namespace mgpu
