// What the fake backend's devices share: queues and links, on a virtual clock or in real time.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lib/exec/fake_backend.hpp"
#include "lib/plan/queue_model.hpp"

namespace mgpu {

inline Nanos real_now() { return std::chrono::duration_cast<Nanos>(std::chrono::steady_clock::now().time_since_epoch()); }

// Shared by the open devices, whose worker threads all come here in real time.
struct FakeBackend::Machine {
  struct Times {
    Nanos started{}, ended{};
  };

  Machine(const FakeLink& link, FakeTime time) : model(link.up, link.down) {
    if (time == FakeTime::is_real) notifying = std::jthread([this](const std::stop_token& stop) { notify(stop); });
  }

  // `notifier`: notified when a command ends; null: never.
  DeviceIndex add_device(const FakeDevice& device, std::shared_ptr<Notifier> notifier) {
    const std::lock_guard lock(mutex);
    known.emplace_back();
    notifiers.push_back(std::move(notifier));
    return model.add_device(device.up, device.down);
  }

  void enqueue(DeviceIndex device, CommandKind kind, Nanos duration, double bytes, std::uint64_t tag, Nanos now) {
    const std::lock_guard lock(mutex);
    advance(now);
    model.enqueue(device, static_cast<QueueModel::Queue>(kind), duration, bytes, tag);
    changed.notify_all();
  }

  // Of a command that has ended by now, once.
  std::optional<Times> take(DeviceIndex device, std::uint64_t tag, Nanos now) {
    const std::lock_guard lock(mutex);
    advance(now);
    const auto found = known[device.value].find(tag);
    if (found == known[device.value].end()) return std::nullopt;
    const Times times = found->second;
    known[device.value].erase(found);
    return times;
  }

  // QueueModel::set_duration, of a compute command.
  bool set_duration(DeviceIndex device, std::uint64_t tag, Nanos duration, Nanos now) {
    const std::lock_guard lock(mutex);
    advance(now);
    changed.notify_all();
    return model.set_duration(device, QueueModel::compute, tag, duration);
  }

  // To the end of the next command; none: nothing will end.
  std::optional<Nanos> advance_to_next_end() {
    const std::lock_guard lock(mutex);
    for (;;) {
      const Nanos at = model.next();
      if (at == Nanos::max()) return std::nullopt;
      if (advance(at) > 0) return at;
    }
  }

 private:
  // In real time the threads' looks at the clock may arrive here in another order than they were taken.
  std::size_t advance(Nanos now) {
    ended.clear();
    model.advance(std::max(now, model.now()), ended);
    for (const QueueModel::Ended& command : ended) {
      known[command.device.value][command.tag] = {command.started, command.ended};
      if (const auto& notifier = notifiers[command.device.value]) notifier->notify();
    }
    return ended.size();
  }

  // In real time: as a driver's own thread does, so that devices notify though nobody asks.
  void notify(const std::stop_token& stop) {
    std::unique_lock lock(mutex);
    while (!stop.stop_requested()) {
      const Nanos next = model.next();
      if (next == Nanos::max() || next >= QueueModel::kForever) {
        changed.wait(lock, stop, [&] { return model.next() < std::min(next, QueueModel::kForever); });
      } else {
        changed.wait_until(lock, stop, std::chrono::steady_clock::time_point(next), [&] { return model.next() < next; });
        advance(real_now());
      }
    }
  }

  std::mutex mutex;
  std::condition_variable_any changed;  // commands were enqueued
  QueueModel model;
  std::vector<std::unordered_map<std::uint64_t, Times>> known;  // by device and tag: ended, and not taken
  std::vector<std::shared_ptr<Notifier>> notifiers;             // by device; null: it does not notify
  std::vector<QueueModel::Ended> ended;                         // scratch
  std::jthread notifying;                                       // last: joined before what it uses is destroyed
};

}  // namespace mgpu
