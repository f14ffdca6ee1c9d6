// Calls into drivers, which may not return: the one place that decides how long anybody waits for
// them. A thread that may enter a driver is watched by another one, which waits no longer when a
// call exceeds its limit; the thread and what it uses are then left behind.
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

// Who is to stop may finish for this long the call that it is inside, and what a device is at.
inline constexpr Nanos kStopGrace = std::chrono::milliseconds(500);

// Watches one thread's calls into drivers, on behalf of another thread.
class DriverWatch {
 public:
  // Makes the calling thread the watched one. The watch must outlive it, or its next begin().
  void begin();

  // Asked by the watching thread, now and then, and by no other thread. Returns true once: when the
  // thread has been inside one call for longer than `limit`, and than `build` more if a kernel may
  // be compiled there. The thread never acts again, and its device, if the call named one, is never
  // at rest again.
  bool gives_up(Nanos now, Nanos limit, Nanos build);
  // Returns the device that the last call named; null: none.
  OpenDevice* device() const { return device_; }

 private:
  friend class DriverCall;
  static constexpr std::uint64_t kGivenUp = ~std::uint64_t{0};
  // Twice the number of calls so far, and one more while inside one.
  std::atomic<std::uint64_t> calls_ = 0;
  std::atomic<OpenDevice*> device_ = nullptr;
  std::atomic<bool> compiles_ = false;
  // The watching thread's: the call that it saw last, and since when.
  std::uint64_t seen_ = 0;
  Nanos since_{};
};

// Marks that the calling thread is inside a driver, for as long as it lives; `may_compile`: it has
// the time of a build as well, as calls that list or open devices have. Its destructor does not
// return on a thread that was given up: what the caller would go on with may be gone. Inside
// another mark, and on a thread that nobody watches, it does nothing.
class DriverCall {
 public:
  explicit DriverCall(OpenDevice* device = nullptr, bool may_compile = false);
  ~DriverCall();
  DriverCall(const DriverCall&) = delete;
  DriverCall& operator=(const DriverCall&) = delete;

  // Tells the watching thread that the thread has come out of the driver, and waits in a loop that
  // has a limit of its own.
  static void renew();

 private:
  DriverWatch* watch_;
  std::uint64_t call_ = 0;
};

// Runs `use`, which may enter the driver of `device` (none: of several), on a watched thread and
// waits for it: by the backend's limits for an answer and for a build. Throws what `use` throws;
// Error(timeout) or Error(interrupted) "the driver of device 0:1 did not return from a call for
// 60 s" when a call does not return. Then `use` is left behind in that call: what it refers to must
// not be freed (try_drain says so), but it will not touch it any more. On a virtual clock it runs
// on the caller's thread. Costs about 30 us.
void attend(Backend& backend, OpenDevice* device, const std::function<void()>& use);

// Runs `function`, one long call such as a build, and waits for it, for `limit` at most. Throws
// what it throws; Error(timeout) "WHAT took longer than 300 s" and Error(interrupted) when it is
// left behind. It then goes on, perhaps for as long as the process lives: it may use nothing but
// what it holds itself, by value. It is destroyed before the call returns, if it does in time.
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
