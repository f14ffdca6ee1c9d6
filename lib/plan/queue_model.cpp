// Simulates queues in whole nanoseconds, so that events at the same time are handled together.
#include "lib/plan/queue_model.hpp"

#include <algorithm>

#include "lib/base/error.hpp"

namespace mgpu {
namespace {

// Limit of the clock. Durations saturate at 9.0e18 ns (from_seconds): the sum does not overflow.
constexpr Nanos kEndOfTime{200'000'000'000'000'000};

}  // namespace

QueueModel::QueueModel(const LinkRate& link_up, const LinkRate& link_down,
                       const NodeNetwork* network) {
  if (network != nullptr && network->any()) network_ = *network;
  for (std::size_t node = 0; node < std::max<std::size_t>(network_.nodes.size(), 1); ++node) {
    links_.emplace_back(link_up);
    links_.emplace_back(link_down);
  }
  if (!network_.any()) return;
  for (const Queue way : {upload, download}) {
    Link& root = links_.emplace_back(LinkRate(network_.root_bytes_per_s));
    for (const NetworkNode& node : network_.nodes)
      direction_of(way).routes.emplace_back().flow_class = root.shared.class_for(node.bytes_per_s);
  }
}

DeviceIndex QueueModel::add_device(double up, double down, std::uint32_t node) {
  Unit& unit = devices_.emplace_back();
  // Measured nodes need no network here: the figures of their devices include its cost.
  unit.node = network_.any() ? node : 0;
  unit.classes = {links_[link_of(unit.node, upload)].shared.class_for(up),
                  links_[link_of(unit.node, download)].shared.class_for(down)};
  return {static_cast<std::uint32_t>(devices_.size() - 1)};
}

void QueueModel::enqueue(DeviceIndex device, Queue queue, Nanos duration, double bytes,
                         std::uint64_t tag) {
  Unit& unit = devices_[device.value];
  Line& line = unit.lines[queue];
  if (line.head == line.commands.size()) {
    line.commands.clear();
    line.head = 0;
  }
  Command command{duration, bytes, tag, {}};
  for (std::size_t earlier = 0; earlier < queue; ++earlier)
    command.after[earlier] = unit.lines[earlier].enqueued;
  line.commands.push_back(command);
  ++line.enqueued;
  if (unit.node == 0) return start_if_ready(device.value, queue);
  Message message{queue == upload ? bytes : 0, now_, device.value, queue, {}};
  if (queue == compute && network_.hand_out > Nanos{}) {
    hands_out_until_ = message.leaves = std::max(now_, hands_out_until_) + network_.hand_out;
    handing_out_ += network_.hand_out;
  }
  send(unit.node, upload, message, nullptr);
}

bool QueueModel::set_duration(DeviceIndex device, Queue queue, std::uint64_t tag, Nanos duration) {
  const std::optional<Nanos> since = running_since(device, queue, tag);
  if (!since) return false;
  events_.push(
      {std::max(now_, *since + duration), events_made_++, device.value, queue, What::duration});
  return true;
}

std::optional<Nanos> QueueModel::running_since(DeviceIndex device, Queue queue,
                                               std::uint64_t tag) const {
  const Line& line = devices_[device.value].lines[queue];
  const bool runs = line.running && line.commands[line.head].tag == tag;
  return runs ? std::optional(line.started) : std::nullopt;
}

void QueueModel::start_if_ready(std::uint32_t device, Queue queue) {
  Unit& unit = devices_[device];
  Line& line = unit.lines[queue];
  if (line.running || line.head == line.commands.size()) return;
  if (unit.node != 0 && line.arrived == line.ended) return;
  const Command& command = line.commands[line.head];
  for (std::size_t earlier = 0; earlier < queue; ++earlier) {
    // Counts wrap around after 2^32 commands; their difference does not.
    if (static_cast<std::int32_t>(unit.lines[earlier].ended - command.after[earlier]) < 0) return;
  }
  line.running = true;
  line.started = now_;
  if (unit.running++ == 0) unit.busy_since = now_;
  if (command.duration != kForever)
    events_.push({now_ + command.duration, events_made_++, device, queue, What::duration});
}

void QueueModel::duration_over(std::uint32_t device, Queue queue, std::vector<Ended>& ended) {
  const Unit& unit = devices_[device];
  const Line& line = unit.lines[queue];
  const double bytes = line.commands[line.head].bytes;
  const std::size_t flow_class = unit.classes[direction(queue)];
  if (queue != compute && bytes > 0 &&
      links_[link_of(unit.node, queue)].shared.is_limited(flow_class)) {
    start_flow(link_of(unit.node, queue), flow_class, bytes, device);
  } else {
    end(device, queue, ended);
  }
}

void QueueModel::end(std::uint32_t device, Queue queue, std::vector<Ended>& ended) {
  Unit& unit = devices_[device];
  Line& line = unit.lines[queue];
  const double bytes = line.commands[line.head].bytes;
  const Ended end{{device}, line.commands[line.head].tag, line.started, now_, queue, bytes};
  ++line.head;
  ++line.ended;
  line.running = false;
  if (--unit.running == 0) unit.busy += now_ - unit.busy_since;
  if (unit.node == 0) {
    ended.push_back(end);
  } else {
    send(unit.node, download, {queue == download ? bytes : 0, now_, device, queue, end}, &ended);
  }
  for (const Queue later : {upload, compute, download}) {
    if (later >= queue) start_if_ready(device, later);
  }
}

void QueueModel::start_flow(std::size_t link, std::size_t flow_class, double bytes,
                            std::uint32_t id) {
  SharedLink& shared = links_[link].shared;
  arrived_.clear();
  shared.advance(now_, arrived_);  // the flow begins at the time that the link has reached
  for (const std::uint32_t ends : arrived_) due_.emplace_back(link, ends);
  shared.start(flow_class, bytes, id);
  look_at(link);
}

void QueueModel::look_at(std::size_t link) {
  const Nanos at = links_[link].shared.next_end();
  ++links_[link].looked;
  if (at != Nanos::max()) link_events_.push({at, link, links_[link].looked});
}

void QueueModel::flows_ended(std::size_t link, std::vector<Ended>& ended) {
  arrived_.clear();
  links_[link].shared.advance(now_, arrived_);
  look_at(link);
  for (const std::uint32_t id : arrived_) due_.emplace_back(link, id);
  for (std::size_t i = 0; i < due_.size(); ++i) {
    const auto [on, id] = due_[i];
    if (network_.any() && on >= 2 * network_.nodes.size()) {
      moved(id, on == root_link(upload) ? upload : download, &ended);
    } else {
      end(id, on % 2 == 0 ? upload : download, ended);
    }
  }
  due_.clear();
}

void QueueModel::send(std::uint32_t node, Queue way, Message message, std::vector<Ended>* ended) {
  Route& route = direction_of(way).routes[node];
  route.waiting.push_back(message);
  if (!route.busy) send_more(node, way, ended);
}

// A message without bytes is on its way at once; one with bytes occupies the route while they move.
void QueueModel::send_more(std::uint32_t node, Queue way, std::vector<Ended>* ended) {
  Direction& direction = direction_of(way);
  Route& route = direction.routes[node];
  while (!route.waiting.empty()) {
    const Message& first = route.waiting.front();
    if (first.leaves > now_) {
      route.busy = true;
      return events_.push({first.leaves, events_made_++, node, way, What::leaves});
    }
    if (first.bytes > 0 && links_[root_link(way)].shared.is_limited(route.flow_class)) {
      route.busy = true;
      if (direction.carrying++ == 0) direction.since = now_;
      return start_flow(root_link(way), route.flow_class, first.bytes, node);
    }
    route.moving.push_back(first);
    route.waiting.pop_front();
    if (network_.latency > Nanos{}) {
      events_.push({now_ + network_.latency, events_made_++, node, way, What::arrives});
    } else {
      arrived(node, way, ended);
    }
  }
}

void QueueModel::moved(std::uint32_t node, Queue way, std::vector<Ended>* ended) {
  Direction& direction = direction_of(way);
  Route& route = direction.routes[node];
  if (--direction.carrying == 0) direction.busy += now_ - direction.since;
  route.waiting.front().bytes = 0;
  route.busy = false;
  send_more(node, way, ended);
}

void QueueModel::arrived(std::uint32_t node, Queue way, std::vector<Ended>* ended) {
  Route& route = direction_of(way).routes[node];
  const Message message = route.moving.front();
  route.moving.pop_front();
  if (way == download) {
    ended->push_back(message.ended);
  } else {
    ++devices_[message.device].lines[message.queue].arrived;
    start_if_ready(message.device, message.queue);
  }
}

Nanos QueueModel::next() {
  while (!link_events_.empty() &&
         link_events_.top().looked != links_[link_events_.top().link].looked)
    link_events_.pop();
  if (!due_.empty()) return now_;
  const Nanos flow = link_events_.empty() ? Nanos::max() : link_events_.top().at;
  return events_.empty() ? flow : std::min(flow, events_.top().at);
}

void QueueModel::advance(Nanos to, std::vector<Ended>& ended) {
  if (to > kEndOfTime)
    throw Error(
        ErrorKind::usage,
        "the simulated clock would run for more than six years: less work or fewer samples");
  for (;;) {
    const Nanos at = next();
    if (at > to) break;
    now_ = at;
    for (; next() == now_ &&
           (!due_.empty() || (!link_events_.empty() && link_events_.top().at == now_));)
      flows_ended(due_.empty() ? link_events_.top().link : due_.front().first, ended);
    while (!events_.empty() && events_.top().at == now_) {
      const Event event = events_.top();
      events_.pop();
      if (event.what == What::duration) {
        duration_over(event.device, event.queue, ended);
      } else if (event.what == What::arrives) {
        arrived(event.device, event.queue, &ended);
      } else {
        direction_of(event.queue).routes[event.device].busy = false;
        send_more(event.device, event.queue, &ended);
      }
    }
  }
  now_ = to;
}

}  // namespace mgpu
