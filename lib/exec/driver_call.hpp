// Calls that block inside a driver, where a device that hangs would hold the caller for ever:
// building a program, opening a context, closing one. They run on a thread of their own that is
// left behind when nobody wants to wait any longer. That costs about 30 us: for set-up only.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "lib/exec/wait.hpp"

namespace mgpu {

// Runs `function` and waits for it, for `limit` at most. Throws what it throws; Error(timeout)
// "WHAT took longer than 300 s" and Error(interrupted) when it is left behind. It then goes on,
// perhaps for as long as the process lives: it may use nothing but what it holds itself, by value.
// It is destroyed before the call returns, if it does in time.
void driver_call(const std::string& what, Nanos limit, const StopCheck& stop,
                 std::function<void()> function);

// Returns what `function` returns; a result that comes too late is destroyed on that thread.
template <class Function>
auto driver_result(const std::string& what, Nanos limit, const StopCheck& stop, Function function) {
  using Result = std::invoke_result_t<Function&>;
  const auto result = std::make_shared<std::optional<Result>>();
  driver_call(what, limit, stop,
              [result, function = std::move(function)]() mutable { result->emplace(function()); });
  return std::move(**result);
}

}  // namespace mgpu
