// Calls into drivers, which may not return; only this file decides how long to wait for them.
// Another thread watches each thread that may enter a driver, and stops waiting when a call exceeds
// its limit; the thread and what it uses are then left behind.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "lib/exec/wait.hpp"

namespace mgpu {

// Time that calls and devices get to finish current work after a stop was requested.
inline constexpr Nanos kStopGrace = std::chrono::milliseconds(500);

// Watch over one thread's calls into drivers, on behalf of another thread.
class DriverWatch {
 public:
  // Makes the calling thread the watched one. The watch must outlive it, or its next begin().
  void begin();

  // Called repeatedly by the watching thread, and by no other thread. Returns true once: when the
  // thread has been inside one call for longer than `limit`, plus `build` if a kernel may be
  // compiled there. The thread is then abandoned and never acts again; its device, if the call
  // named one, will never be drained.
  bool gives_up(Nanos now, Nanos limit, Nanos build);
  // Returns the device that the last call named; null: none.
  OpenDevice* device() const { return device_; }

 private:
  friend class DriverCall;
  static constexpr std::uint64_t kGivenUp = ~std::uint64_t{0};
  // Twice the number of calls so far, plus one while inside a call.
  std::atomic<std::uint64_t> calls_ = 0;
  std::atomic<OpenDevice*> device_ = nullptr;
  std::atomic<bool> compiles_ = false;
  // State of the watching thread: the call that it saw last, and since when.
  std::uint64_t seen_ = 0;
  Nanos since_{};
};

// Marks that the calling thread is inside a driver during the lifetime of this object.
// `may_compile`: adds the build limit, as calls that list or open devices need. The destructor does
// not return on an abandoned thread: what the caller would use next may be destroyed. Does nothing
// inside another mark, and on a thread that is not watched.
class DriverCall {
 public:
  explicit DriverCall(OpenDevice* device = nullptr, bool may_compile = false);
  ~DriverCall();
  DriverCall(const DriverCall&) = delete;
  DriverCall& operator=(const DriverCall&) = delete;

  // Restarts the limit of the current call: the thread is in a waiting loop outside the driver,
  // which has a limit of its own.
  static void renew();

 private:
  DriverWatch* watch_;
  std::uint64_t call_ = 0;
};

// Runs `use`, which may enter the driver of `device` (null: of several devices), on a watched
// thread and waits for it, with the backend's limits for an answer and for a build. Throws what
// `use` throws, and Error(timeout) or Error(interrupted) "the driver of device 0:1 did not return
// from a call for 60 s" when a call does not return. Then `use` is left behind in that call: what
// it refers to must not be freed (try_drain then returns false), but it will not touch it any more.
// On a virtual clock it runs on the caller's thread. Costs about 30 us.
void attend(Backend& backend, OpenDevice* device, const std::function<void()>& use);

// Runs `function`, one long call such as a build, and waits for it, for `limit` at most. Throws
// what it throws, and Error(timeout) "WHAT took longer than 300 s" or Error(interrupted) when it is
// left behind. It then continues, perhaps for the rest of the process: it may use only what it
// holds by value. If it ends in time, it is destroyed before the call returns.
void driver_call(const std::string& what, Nanos limit, const StopCheck& stop,
                 std::function<void()> function);

// Runs `function` so and returns its result; a result that comes too late is destroyed on that
// thread.
template <class Function>
auto driver_result(const std::string& what, Nanos limit, const StopCheck& stop, Function function) {
  using Result = std::invoke_result_t<Function&>;
  const auto result = std::make_shared<std::optional<Result>>();
  driver_call(what, limit, stop,
              [result, function = std::move(function)]() mutable { result->emplace(function()); });
  return std::move(**result);
}

}  // namespace mgpu
