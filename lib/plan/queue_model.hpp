// QueueModel: computes when commands start and end on devices of given speed. Each device has three
// in-order queues (upload, compute, download), as Stream in lib/workload/stream.hpp; transfers of
// all devices share the host link. The simulator and the fake backend of tests use the same model,
// and decide which commands to enqueue, and when.
//
// With a network (lib/plan/network.hpp) each node has its own host link, and all commands are
// enqueued on node 0. A command for another node's device goes there in a message, and a message
// comes back when it has ended. Messages of a node arrive in order, each way; those of different
// nodes share node 0's link. An upload's bytes are in the message to the node, a download's in the
// one back: neither starts on the next link before it has arrived completely.
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

  // `link_up` and `link_down` are the rates of all uploads and all downloads; with a network, those
  // of each node. `network` may be null: there is none.
  QueueModel(const LinkRate& link_up, const LinkRate& link_down,
             const NodeNetwork* network = nullptr);

  // Adds a device; `up` and `down` are bytes/s of its own link; 0: no limit. Without a network all
  // devices share one link, whatever their node.
  DeviceIndex add_device(double up, double down, std::uint32_t node = 0);

  // Enqueues a command at now(). It starts once everything enqueued before it on this device in the
  // same and in earlier queues has ended, and, on another node, once its message has arrived. Then
  // it takes `duration` (kForever: it never ends), and after that moves its bytes over the link of
  // its queue; compute has none.
  void enqueue(DeviceIndex device, Queue queue, Nanos duration, double bytes, std::uint64_t tag);

  // Sets the duration, from its start, of the running command `tag`, which was enqueued with
  // kForever; it ends now if that time is over. Returns false if the command is not running.
  bool set_duration(DeviceIndex device, Queue queue, std::uint64_t tag, Nanos duration);
  // Returns the start of that command; none: it is not running.
  std::optional<Nanos> running_since(DeviceIndex device, Queue queue, std::uint64_t tag) const;

  Nanos now() const { return now_; }
  // Returns the time of the next event if nothing is enqueued, which is not always the end of a
  // command. Nanos::max(): there is none.
  Nanos next();
  // Advances to `to`, not before now(), and appends the commands that node 0 learns have ended, in
  // order. Throws Error(usage) beyond six years, where sums of times begin to overflow.
  void advance(Nanos to, std::vector<Ended>& ended);

  // Returns the time during which any command of the device was running, up to the last end.
  Nanos busy(DeviceIndex device) const { return devices_[device.value].busy; }
  // Return the time during which node 0's link carried something to other nodes, and back, and the
  // time that node 0 took to hand out commands.
  Nanos sending() const { return sending_.busy; }
  Nanos receiving() const { return receiving_.busy; }
  Nanos handing_out() const { return handing_out_; }

 private:
  struct Command {
    Nanos duration{};
    double bytes = 0;
    std::uint64_t tag = 0;
    // Number of commands of each earlier queue that it waits for.
    std::array<std::uint32_t, 2> after{};
  };
  struct Line {
    std::vector<Command> commands;  // commands before `head` have ended
    std::size_t head = 0;
    std::uint32_t enqueued = 0, ended = 0;
    std::uint32_t arrived = 0;  // number of commands whose messages have arrived, on another node
    bool running = false;
    Nanos started{};
  };
  struct Unit {
    std::array<Line, 3> lines;
    std::array<std::size_t, 2> classes{};  // flow classes of uploads and of downloads
    std::uint32_t node = 0;
    unsigned running = 0;
    Nanos busy_since{}, busy{};
  };
  // A link, by position: one up and one down per node, then node 0's to the others, and back.
  struct Link {
    SharedLink shared;
    std::uint64_t looked = 0;  // number of ends pushed to link_events_; only the last one is valid
    explicit Link(const LinkRate& rate) : shared(rate) {}
  };
  struct LinkEvent {  // end of a flow on a link
    Nanos at{};
    std::size_t link = 0;
    std::uint64_t looked = 0;
    bool operator>(const LinkEvent& other) const {
      return at != other.at ? at > other.at : link > other.link;
    }
  };
  struct Message {
    double bytes = 0;
    Nanos leaves{};  // earliest time
    std::uint32_t device = 0;
    Queue queue = upload;  // queue of the command that it carries
    Ended ended;           // end of a command that it reports
  };
  struct Route {  // messages to a node, or from it
    // `waiting`: the first may be under way; `moving`: they arrive after the latency.
    std::deque<Message> waiting, moving;
    bool busy = false;  // the first of `waiting` is under way
    std::size_t flow_class = 0;
  };
  struct Direction {            // one direction of node 0's link
    std::vector<Route> routes;  // by node
    unsigned carrying = 0;      // number of messages
    Nanos since{}, busy{};
  };
  enum class What : std::uint8_t { duration, leaves, arrives };
  // `duration`: the duration of the command at the head of a queue is over. For messages `device`
  // is the node, and `queue` the direction.
  struct Event {
    Nanos at{};
    std::uint64_t number = 0;  // order of events of the same time
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
  // Flows that ended while another began on their link.
  std::vector<std::pair<std::size_t, std::uint32_t>> due_;
};

}  // namespace mgpu
