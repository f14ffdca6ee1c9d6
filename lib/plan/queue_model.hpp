// QueueModel: when commands start and end on devices of given speed. Each device has three in-order queues (upload, compute,
// download), as Stream says in lib/workload/stream.hpp; transfers of all devices share the host link. One model for the simulator,
// which predicts, and for the fake backend, whose virtual devices run whole sessions. Who enqueues what, and when, is theirs.
#pragma once

#include <array>
#include <cstdint>
#include <queue>
#include <vector>

#include "lib/base/ids.hpp"
#include "lib/plan/shared_link.hpp"

namespace mgpu {

class QueueModel {
 public:
  enum Queue : std::uint8_t { upload, compute, download };
  static constexpr Nanos kForever = Nanos::max();

  struct Ended {
    DeviceIndex device;
    std::uint64_t tag = 0;
    Nanos started{}, ended{};
  };

  // Of all uploads, of all downloads.
  QueueModel(const LinkRate& link_up, const LinkRate& link_down);

  // bytes/s of the device's own link; 0: no limit.
  DeviceIndex add_device(double up, double down);

  // At now(). It starts once everything enqueued before it on this device in the same and in earlier queues has ended; then it
  // takes `duration` (kForever: it never ends), and after that moves its bytes over the link of its queue; compute has none.
  void enqueue(DeviceIndex device, Queue queue, Nanos duration, double bytes, std::uint64_t tag);

  // The command `tag`, enqueued with kForever, takes `duration` from its start after all, and ends now if that is over. False: it
  // is not the one that runs.
  bool set_duration(DeviceIndex device, Queue queue, std::uint64_t tag, Nanos duration);
  bool runs(DeviceIndex device, Queue queue, std::uint64_t tag) const;

  Nanos now() const { return now_; }
  // When something happens next, if nothing is enqueued: not always the end of a command. Nanos::max(): never.
  Nanos next();
  // Moves to `to`, not before now(), and appends the commands that ended, in order. Throws Error(usage) beyond six years, where
  // sums of times begin to overflow.
  void advance(Nanos to, std::vector<Ended>& ended);

  // The time during which any command of the device was running, up to the last end.
  Nanos busy(DeviceIndex device) const { return devices_[device.value].busy; }

 private:
  struct Command {
    Nanos duration{};
    double bytes = 0;
    std::uint64_t tag = 0;
    std::array<std::uint32_t, 2> after{};  // it waits for this many commands of the queues before its own
  };
  struct Line {
    std::vector<Command> commands;  // those before `head` have ended
    std::size_t head = 0;
    std::uint32_t enqueued = 0, ended = 0;
    bool running = false;
    Nanos started{};
  };
  struct Unit {
    std::array<Line, 3> lines;
    std::array<std::size_t, 2> classes{};  // of its uploads, of its downloads
    unsigned running = 0;
    Nanos busy_since{}, busy{};
  };
  struct Event {  // the duration of the command at the head of a queue is over
    Nanos at{};
    std::uint64_t number = 0;  // events of one moment in the order they were made
    std::uint32_t device = 0;
    Queue queue = upload;
    bool operator>(const Event& other) const { return at != other.at ? at > other.at : number > other.number; }
  };

  SharedLink& link_of(Queue queue) { return queue == upload ? up_ : down_; }
  static std::size_t direction(Queue queue) { return queue == upload ? 0 : 1; }
  void start_if_ready(std::uint32_t device, Queue queue);
  void duration_over(std::uint32_t device, Queue queue, std::vector<Ended>& ended);
  void end(std::uint32_t device, Queue queue, std::vector<Ended>& ended);

  Nanos now_{};
  SharedLink up_, down_;
  std::vector<Unit> devices_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::uint64_t events_made_ = 0;
  std::vector<std::uint32_t> arrived_;  // scratch of advance()
};

}  // namespace mgpu
