#include "lib/exec/wait.hpp"

#include <algorithm>
#include <string>
#include <thread>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/base/quantity.hpp"
#include "lib/exec/backend.hpp"
#include "lib/exec/driver_call.hpp"

namespace mgpu {
namespace {

// Time between two calls of a stop check: work that takes less, such as a clock probe, ends before
// it is asked to stop.
constexpr Nanos kBetweenQuestions = std::chrono::milliseconds(10);
constexpr Nanos kBetweenLooks = std::chrono::microseconds(50);
// Few commands take longer; a hung device wastes only this much.
constexpr Nanos kLongestDrain = std::chrono::seconds(1);

}  // namespace

void wait_until(Backend& backend, std::string_view who, Nanos limit, const StopCheck& stop,
                const std::function<bool()>& done, const std::function<void()>& rest) {
  Nanos asked = backend.now();
  const Nanos deadline = asked + limit;
  const auto release_failed = [&] {
    throw Error(ErrorKind::timeout,
                std::string(who) + " did not answer for " + format_duration(limit));
  };
  while (!done()) {
    DriverCall::renew();
    const Nanos now = backend.now();
    if (now >= deadline) release_failed();
    if (stop && (backend.is_virtual() || now - asked >= kBetweenQuestions)) {
      asked = now;
      if (stop())
        throw Error(ErrorKind::interrupted, "stopped while " + std::string(who) + " was at work");
    }
    if (!backend.is_virtual()) {
      rest();
      continue;
    }
    if (!backend.advance(deadline)) release_failed();
    if (backend.now() > deadline) release_failed();  // the next completion was later
  }
}

void wait_for(Backend& backend, OpenDevice& device, BatchId batch, const WaitLimits& limits,
              WaitPolicy look) {
  std::uint64_t epoch = 0;
  const auto done = [&] {
    epoch = device.notifier().epoch();
    return device.complete(batch);
  };
  const auto rest = [&] {
    if (look == WaitPolicy::spin) return std::this_thread::yield();
    Nanos longest = device.notifies() ? Notifier::kLongest : kBetweenLooks;
    if (const auto due = device.due())
      longest = std::min(longest, std::max(Nanos{}, *due - backend.now()));
    device.notifier().wait(epoch, longest);
  };
  try {
    const Nanos limit = limits.answer + (device.may_compile(batch) ? limits.build : Nanos{});
    wait_until(backend, "device " + device.resources().traits().id, limit, limits.stop, done, rest);
  } catch (...) {
    device.abandon();
    throw;
  }
}

void wait_for(Backend& backend, OpenDevice& device, BatchId batch, WaitPolicy look) {
  wait_for(backend, device, batch, backend.limits(), look);
}

bool try_drain(Backend& backend, OpenDevice& device) noexcept {
  if (device.has_thread_inside()) return false;
  try {
    const WaitLimits& limits = backend.limits();
    attend(backend, &device, [&] {
      device.abandon();
      wait_until(
          backend, "", std::min(limits.answer / 10, kLongestDrain), limits.stop,
          [&] { return device.drained(); }, [] { std::this_thread::sleep_for(kBetweenLooks); });
    });
    return true;
  } catch (...) {
    return false;
  }
}

void finish_batch(Backend& backend, OpenDevice& device, BatchId batch, const WaitLimits& limits) {
  wait_for(backend, device, batch, limits);
  device.take(batch);
}

void finish_batch(Backend& backend, OpenDevice& device, BatchId batch) {
  finish_batch(backend, device, batch, backend.limits());
}

void complete(Backend& backend, OpenDevice& device, const std::function<void()>& completion) {
  finish_batch(backend, device, device.submit());
  if (completion) completion();
}

Nanos finish_trial(Backend& backend, OpenDevice& device) {
  const BatchId batch = device.submit();
  wait_for(backend, device, batch);
  Nanos computing{};
  for (const RawCommand& command : device.take(batch))
    if (command.kind == CommandKind::compute)
      computing += Nanos{static_cast<std::int64_t>(command.ended - command.started)};
  return computing;
}

LimitsInForce::LimitsInForce(Backend& backend, WaitLimits limits)
    : backend_(backend), before_(backend.limits()) {
  backend_.limit_waits(std::move(limits));
}

LimitsInForce::~LimitsInForce() { backend_.limit_waits(std::move(before_)); }

}  // namespace mgpu
