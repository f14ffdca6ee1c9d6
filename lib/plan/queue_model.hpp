// QueueModel: when commands start and end on devices of given speed. Each device has three in-order
// queues (upload, compute, download), as Stream says in lib/workload/stream.hpp; transfers of all
// devices share the host link. One model for the simulator and for the fake
// backend of tests. Who enqueues what, and when, is theirs.
//
// With a network (lib/plan/network.hpp) each node has a host link of its own, and all is enqueued
// on node 0. A command of another node's device goes there in a message, and that it has ended
// comes back in one; messages of a node arrive in order, each way, those of different nodes share
// node 0's link. An upload's bytes are in the message there, a download's in the one back: neither
// starts on the next link before all of it is there.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <queue>
#include <vector>

#include "lib/base/units.hpp"
#include "lib/plan/network.hpp"
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
    Queue queue = compute;
    double bytes = 0;
  };

  // Of all uploads, of all downloads; with a network, of each node's. Null: there is none.
  QueueModel(const LinkRate& link_up, const LinkRate& link_down,
             const NodeNetwork* network = nullptr);

  // bytes/s of the device's own link; 0: no limit. Without a network all share one link, of
  // whichever node they are.
  DeviceIndex add_device(double up, double down, std::uint32_t node = 0);

  // At now(). It starts once everything enqueued before it on this device in the same and in
  // earlier queues has ended; then it takes `duration` (kForever: it never ends), and after that
  // moves its bytes over the link of its queue; compute has none. Of a device elsewhere it waits
  // for its message as well.
  void enqueue(DeviceIndex device, Queue queue, Nanos duration, double bytes, std::uint64_t tag);

  // The command `tag`, enqueued with kForever, takes `duration` from its start after all, and ends
  // now if that is over. False: it is not the one that runs.
  bool set_duration(DeviceIndex device, Queue queue, std::uint64_t tag, Nanos duration);
  // Returns since when that command runs; none: it does not.
  std::optional<Nanos> running_since(DeviceIndex device, Queue queue, std::uint64_t tag) const;

  Nanos now() const { return now_; }
  // When something happens next, if nothing is enqueued: not always the end of a command.
  // Nanos::max(): never.
  Nanos next();
  // Moves to `to`, not before now(), and appends the commands that node 0 hears have ended, in
  // order. Throws Error(usage) beyond six years, where sums of times begin to overflow.
  void advance(Nanos to, std::vector<Ended>& ended);

  // The time during which any command of the device was running, up to the last end.
  Nanos busy(DeviceIndex device) const { return devices_[device.value].busy; }
  // The time during which node 0's link to other nodes carried something, and back; and that it
  // took to hand out.
  Nanos sending() const { return sending_.busy; }
  Nanos receiving() const { return receiving_.busy; }
  Nanos handing_out() const { return handing_out_; }

 private:
  struct Command {
    Nanos duration{};
    double bytes = 0;
    std::uint64_t tag = 0;
    std::array<std::uint32_t, 2>
        after{};  // it waits for this many commands of the queues before its own
  };
  struct Line {
    std::vector<Command> commands;  // those before `head` have ended
    std::size_t head = 0;
    std::uint32_t enqueued = 0, ended = 0;
    std::uint32_t arrived = 0;  // of another node: commands whose messages have
    bool running = false;
    Nanos started{};
  };
  struct Unit {
    std::array<Line, 3> lines;
    std::array<std::size_t, 2> classes{};  // of its uploads, of its downloads
    std::uint32_t node = 0;
    unsigned running = 0;
    Nanos busy_since{}, busy{};
  };
  // What a link is for, by its position: one up and one down of each node, then node 0's to others,
  // and back.
  struct Link {
    SharedLink shared;
    std::uint64_t looked = 0;  // how often its next end was put into link_events_: the last counts
    explicit Link(const LinkRate& rate) : shared(rate) {}
  };
  struct LinkEvent {  // a flow of a link ends
    Nanos at{};
    std::size_t link = 0;
    std::uint64_t looked = 0;
    bool operator>(const LinkEvent& other) const {
      return at != other.at ? at > other.at : link > other.link;
    }
  };
  struct Message {
    double bytes = 0;
    Nanos leaves{};  // not before
    std::uint32_t device = 0;
    Queue queue = upload;  // of the command that it brings
    Ended ended;           // what it tells
  };
  struct Route {  // messages to a node, or from it
    std::deque<Message> waiting,
        moving;  // the first of `waiting` may be under way; moving: they arrive after the latency
    bool busy = false;  // with the first that waits
    std::size_t flow_class = 0;
  };
  struct Direction {            // node 0's link
    std::vector<Route> routes;  // by node
    unsigned carrying = 0;      // messages
    Nanos since{}, busy{};
  };
  enum class What : std::uint8_t { duration, leaves, arrives };
  struct Event {  // `duration`: that of the command at the head of a queue is over. Of messages:
                  // `device` is the node, `queue` the way
    Nanos at{};
    std::uint64_t number = 0;  // events of one moment in the order they were made
    std::uint32_t device = 0;
    Queue queue = upload;
    What what = What::duration;
    bool operator>(const Event& other) const {
      return at != other.at ? at > other.at : number > other.number;
    }
  };

  std::size_t link_of(std::uint32_t node, Queue queue) const {
    return 2 * std::size_t{node} + (queue == upload ? 0 : 1);
  }
  std::size_t root_link(Queue way) const { return links_.size() - (way == upload ? 2 : 1); }
  static std::size_t direction(Queue queue) { return queue == upload ? 0 : 1; }
  Direction& direction_of(Queue way) { return way == upload ? sending_ : receiving_; }
  void start_if_ready(std::uint32_t device, Queue queue);
  void duration_over(std::uint32_t device, Queue queue, std::vector<Ended>& ended);
  void end(std::uint32_t device, Queue queue, std::vector<Ended>& ended);
  void start_flow(std::size_t link, std::size_t flow_class, double bytes, std::uint32_t id);
  void look_at(std::size_t link);
  void flows_ended(std::size_t link, std::vector<Ended>& ended);
  void send(std::uint32_t node, Queue way, Message message, std::vector<Ended>* ended);
  void send_more(std::uint32_t node, Queue way, std::vector<Ended>* ended);
  void moved(std::uint32_t node, Queue way, std::vector<Ended>* ended);
  void arrived(std::uint32_t node, Queue way, std::vector<Ended>* ended);

  Nanos now_{};
  NodeNetwork network_;
  std::vector<Link> links_;
  std::vector<Unit> devices_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::priority_queue<LinkEvent, std::vector<LinkEvent>, std::greater<>> link_events_;
  std::uint64_t events_made_ = 0;
  Direction sending_, receiving_;
  Nanos hands_out_until_{}, handing_out_{};
  std::vector<std::uint32_t> arrived_;  // scratch of advance()
  std::vector<std::pair<std::size_t, std::uint32_t>>
      due_;  // flows that ended as another began on their link
};

}  // namespace mgpu
