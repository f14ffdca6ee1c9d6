#include "lib/exec/driver_call.hpp"

#include <unistd.h>

#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

#include "lib/base/error.hpp"
#include "lib/base/quantity.hpp"
#include "lib/exec/backend.hpp"

namespace mgpu {
namespace {

constexpr Nanos kLookEvery = std::chrono::milliseconds(2);

thread_local DriverWatch* watch_of_this_thread = nullptr;

// A call on a thread of its own; it may outlive the caller.
struct Call {
  std::mutex mutex;
  std::condition_variable returned;
  std::function<void()> function;
  DriverWatch watch;
  bool over = false;
  std::exception_ptr failure;
};

void run(const std::shared_ptr<Call>& call) {
  std::exception_ptr failure;
  try {
    call->watch.begin();
    call->function();
  } catch (...) {
    failure = std::current_exception();
  }
  call->function = nullptr;  // its captures are released before the caller continues
  const std::lock_guard lock(call->mutex);
  call->failure = std::move(failure);
  call->over = true;
  call->returned.notify_all();
}

// Runs `function` on a thread of its own until it ends, or until `look`, called every 2 ms on the
// caller's thread, throws.
void run_aside(std::function<void()> function, const std::function<void(DriverWatch&)>& look) {
  const auto call = std::make_shared<Call>();
  call->function = std::move(function);
  try {
    std::thread(run, call).detach();
  } catch (const std::system_error&) {  // no thread is available: call without a watch
    return call->function();
  }
  std::unique_lock lock(call->mutex);
  while (!call->returned.wait_for(lock, kLookEvery, [&] { return call->over; })) {
    DriverCall::renew();  // this thread may be watched itself
    look(call->watch);
  }
  if (call->failure) std::rethrow_exception(std::exchange(call->failure, nullptr));
}

}  // namespace

void DriverWatch::begin() { watch_of_this_thread = this; }

bool DriverWatch::gives_up(Nanos now, Nanos limit, Nanos build) {
  std::uint64_t call = calls_;
  const bool is_inside = call % 2 == 1 && call != kGivenUp;
  if (!is_inside || call != seen_) {
    seen_ = call;
    since_ = now;
    return false;
  }
  if (now - since_ < limit + (compiles_ ? build : Nanos{})) return false;
  OpenDevice* const device = device_;
  if (!calls_.compare_exchange_strong(call, kGivenUp)) return false;
  if (device != nullptr) device->mark_wedged();
  return true;
}

DriverCall::DriverCall(OpenDevice* device, bool may_compile) : watch_(watch_of_this_thread) {
  if (watch_ == nullptr) return;
  const std::uint64_t calls = watch_->calls_.load(std::memory_order_relaxed);
  if (calls % 2 == 1) {
    if (may_compile) watch_->compiles_ = true;
    watch_ = nullptr;
    return;
  }
  watch_->device_.store(device, std::memory_order_relaxed);
  watch_->compiles_.store(may_compile, std::memory_order_relaxed);
  call_ = calls + 1;
  watch_->calls_.store(call_, std::memory_order_release);
}

DriverCall::~DriverCall() {
  if (watch_ == nullptr) return;
  std::uint64_t call = watch_->calls_.load(std::memory_order_relaxed);
  if (call != DriverWatch::kGivenUp && watch_->calls_.compare_exchange_strong(call, call + 1))
    return;
  for (;;) ::pause();
}

void DriverCall::renew() {
  DriverWatch* const watch = watch_of_this_thread;
  if (watch == nullptr) return;
  std::uint64_t call = watch->calls_.load(std::memory_order_relaxed);
  if (call % 2 == 1 && call != DriverWatch::kGivenUp)
    watch->calls_.compare_exchange_strong(call, call + 2);
}

void attend(Backend& backend, OpenDevice* device, const std::function<void()>& use) {
  if (backend.is_virtual()) return use();
  const WaitLimits limits = backend.limits();
  std::optional<Nanos> stopped;
  run_aside(use, [&](DriverWatch& watch) {
    const Nanos now = backend.now();
    if (!stopped && limits.stop && limits.stop()) stopped = now;
    const Nanos limit = stopped ? kStopGrace : limits.answer;
    if (!watch.gives_up(now, limit, stopped ? Nanos{} : limits.build)) return;
    if (device != nullptr) device->mark_wedged();
    OpenDevice* const held = device != nullptr ? device : watch.device();
    const std::string whose =
        held == nullptr ? "a driver" : "the driver of device " + held->resources().traits().id;
    throw Error(stopped ? ErrorKind::interrupted : ErrorKind::timeout,
                whose + " did not return from a call for " + format_duration(limit));
  });
}

void driver_call(const std::string& what, Nanos limit, const StopCheck& stop,
                 std::function<void()> function) {
  if (stop && stop()) throw Error(ErrorKind::interrupted, "stopped before " + what);
  const auto deadline = std::chrono::steady_clock::now() + limit;
  run_aside(std::move(function), [&](DriverWatch&) {
    if (std::chrono::steady_clock::now() >= deadline)
      throw Error(ErrorKind::timeout, what + " took longer than " + format_duration(limit));
    if (stop && stop()) throw Error(ErrorKind::interrupted, "stopped during " + what);
  });
}

}  // namespace mgpu
