// The state that the fake backend's devices share: queues and links, on a virtual clock or in real
// time.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <span>
#include <stop_token>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lib/plan/queue_model.hpp"
#include "tests/support/fake_backend.hpp"

namespace mgpu {

inline Nanos real_now() {
  return std::chrono::duration_cast<Nanos>(std::chrono::steady_clock::now().time_since_epoch());
}

// Signals from one device to another, guarded by the machine's mutex.
struct FakeSignals {
  struct Wait {
    DeviceIndex device;
    std::uint64_t tag = 0, number = 0;  // ends with this signal, counted from 1
  };
  std::uint64_t given = 0, awaited = 0;
  bool lost = false;       // the sender failed: waits end at once
  std::deque<Wait> waits;  // waits that have not ended
};

// State shared by the open devices. In real time all their worker threads use it.
struct FakeBackend::Machine {
  struct Times {
    Nanos started{}, ended{};
  };

  Machine(const FakeLink& link, FakeTime time) : model(link.up, link.down, &link.network) {
    if (time == FakeTime::is_real)
      notifying = std::jthread([this](const std::stop_token& stop) { notify(stop); });
  }

  // Adds a device. `notifier` is notified when a command ends; null: never.
  DeviceIndex add_device(const FakeDevice& device, std::shared_ptr<Notifier> notifier) {
    const std::lock_guard lock(mutex);
    known.emplace_back();
    notifiers.push_back(std::move(notifier));
    return model.add_device(device.up, device.down,
                            device.facts.is_elsewhere() ? device.facts.node->number : 0);
  }

  void enqueue(DeviceIndex device, CommandKind kind, Nanos duration, double bytes,
               std::uint64_t tag, Nanos now) {
    const std::lock_guard lock(mutex);
    advance(now);
    const auto queue =
        kind == CommandKind::exchange ? QueueModel::compute : static_cast<QueueModel::Queue>(kind);
    model.enqueue(device, queue, duration, queue == QueueModel::compute ? 0 : bytes, tag);
    end_waits();
    changed.notify_all();
  }

  // Makes the next command of that tag give a signal when it ends. `signals` must live until then.
  void ends_with_signal(DeviceIndex device, std::uint64_t tag, FakeSignals& signals) {
    const std::lock_guard lock(mutex);
    gives[{device, tag}] = &signals;
  }

  // Makes the next command of that tag, which lasts for ever, end with the next signal that no wait
  // has claimed yet.
  void waits_for_signal(DeviceIndex device, std::uint64_t tag, FakeSignals& signals) {
    const std::lock_guard lock(mutex);
    signals.waits.push_back({device, tag, ++signals.awaited});
    if (std::find(awaited.begin(), awaited.end(), &signals) == awaited.end())
      awaited.push_back(&signals);
  }

  // Gives a signal on behalf of a device of another process.
  void give(FakeSignals& signals, Nanos now) {
    const std::lock_guard lock(mutex);
    advance(now);
    ++signals.given;
    end_waits();
    changed.notify_all();
  }

  void mark_failed(std::span<FakeSignals> of_group, Nanos now) {
    const std::lock_guard lock(mutex);
    advance(now);
    for (FakeSignals& signals : of_group) signals.lost = true;
    end_waits();
    changed.notify_all();
  }

  // Forgets signals whose devices have left the group.
  void forget(std::span<FakeSignals> signals) {
    const std::lock_guard lock(mutex);
    const auto among = [&](const FakeSignals* each) {
      return each >= signals.data() && each < signals.data() + signals.size();
    };
    std::erase_if(gives, [&](const auto& entry) { return among(entry.second); });
    std::erase_if(awaited, among);
  }

  // Returns true if the device waits for one of these signals and for nothing before it.
  bool waits(const FakeSignals& signals, DeviceIndex device) {
    const std::lock_guard lock(mutex);
    return std::any_of(signals.waits.begin(), signals.waits.end(),
                       [&](const FakeSignals::Wait& wait) {
                         return wait.device == device &&
                                model.running_since(device, QueueModel::compute, wait.tag);
                       });
  }

  // Returns the times of a command that has ended by now, once per command.
  std::optional<Times> take(DeviceIndex device, std::uint64_t tag, Nanos now) {
    const std::lock_guard lock(mutex);
    advance(now);
    const auto found = known[device.value].find(tag);
    if (found == known[device.value].end()) return std::nullopt;
    const Times times = found->second;
    known[device.value].erase(found);
    return times;
  }

  // Calls QueueModel::set_duration for a compute command.
  bool set_duration(DeviceIndex device, std::uint64_t tag, Nanos duration, Nanos now) {
    const std::lock_guard lock(mutex);
    advance(now);
    changed.notify_all();
    return model.set_duration(device, QueueModel::compute, tag, duration);
  }

  // Advances to the end of the next command; returns none if nothing will end.
  std::optional<Nanos> advance_to_next_end() {
    const std::lock_guard lock(mutex);
    for (;;) {
      const Nanos at = model.next();
      if (at == Nanos::max()) return std::nullopt;
      if (advance(at) > 0) return at;
    }
  }

 private:
  // Advances to `now`. In real time threads may arrive here in another order than they read the
  // clock.
  std::size_t advance(Nanos now) {
    ended.clear();
    model.advance(std::max(now, model.now()), ended);
    for (const QueueModel::Ended& command : ended) {
      known[command.device.value][command.tag] = {command.started, command.ended};
      if (const auto giving = gives.find({command.device, command.tag}); giving != gives.end()) {
        ++giving->second->given;
        gives.erase(giving);
      }
      if (const auto& notifier = notifiers[command.device.value]) notifier->notify();
    }
    if (!ended.empty()) end_waits();
    return ended.size();
  }

  // Ends the waits whose signal has come, except those that have not begun.
  void end_waits() {
    for (FakeSignals* signals : awaited) {
      while (!signals->waits.empty()) {
        const FakeSignals::Wait& wait = signals->waits.front();
        if (wait.number > signals->given && !signals->lost) break;
        if (!model.set_duration(wait.device, QueueModel::compute, wait.tag, Nanos{})) break;
        signals->waits.pop_front();
      }
    }
  }

  // Notifies in real time, as a driver's own thread does, so that devices notify without being
  // polled.
  void notify(const std::stop_token& stop) {
    std::unique_lock lock(mutex);
    while (!stop.stop_requested()) {
      const Nanos next = model.next();
      if (next == Nanos::max() || next >= QueueModel::kForever) {
        changed.wait(lock, stop,
                     [&] { return model.next() < std::min(next, QueueModel::kForever); });
      } else {
        changed.wait_until(lock, stop, std::chrono::steady_clock::time_point(next),
                           [&] { return model.next() < next; });
        advance(real_now());
      }
    }
  }

  std::mutex mutex;
  std::condition_variable_any changed;  // notified when commands were enqueued
  QueueModel model;
  std::vector<std::unordered_map<std::uint64_t, Times>>
      known;                                         // ended and not yet taken, by device and tag
  std::vector<std::shared_ptr<Notifier>> notifiers;  // one per device; null: it does not notify
  std::map<std::pair<DeviceIndex, std::uint64_t>, FakeSignals*>
      gives;                             // signals that a command will give, by device and tag
  std::vector<FakeSignals*> awaited;     // signals that some device waits for
  std::vector<QueueModel::Ended> ended;  // scratch
  std::jthread notifying;                // last member: joined before what it uses is destroyed
};

}  // namespace mgpu
