// Everything happens at whole nanoseconds, so that what ends together is seen together.
#include "lib/plan/queue_model.hpp"

#include <algorithm>

#include "lib/base/error.hpp"

namespace mgpu {
namespace {

// A time from now saturates at 9.0e18 ns (from_seconds): added to this, it is still one.
constexpr Nanos kEndOfTime{200'000'000'000'000'000};

}  // namespace

QueueModel::QueueModel(const LinkRate& link_up, const LinkRate& link_down) : up_(link_up), down_(link_down) {}

DeviceIndex QueueModel::add_device(double up, double down) {
  Unit& unit = devices_.emplace_back();
  unit.classes = {up_.class_for(up), down_.class_for(down)};
  return {static_cast<std::uint32_t>(devices_.size() - 1)};
}

void QueueModel::enqueue(DeviceIndex device, Queue queue, Nanos duration, double bytes, std::uint64_t tag) {
  Unit& unit = devices_[device.value];
  Line& line = unit.lines[queue];
  if (line.head == line.commands.size()) {
    line.commands.clear();
    line.head = 0;
  }
  Command command{duration, bytes, tag, {}};
  for (std::size_t earlier = 0; earlier < queue; ++earlier) command.after[earlier] = unit.lines[earlier].enqueued;
  line.commands.push_back(command);
  ++line.enqueued;
  start_if_ready(device.value, queue);
}

bool QueueModel::set_duration(DeviceIndex device, Queue queue, std::uint64_t tag, Nanos duration) {
  if (!runs(device, queue, tag)) return false;
  const Line& line = devices_[device.value].lines[queue];
  events_.push({std::max(now_, line.started + duration), events_made_++, device.value, queue});
  return true;
}

bool QueueModel::runs(DeviceIndex device, Queue queue, std::uint64_t tag) const {
  const Line& line = devices_[device.value].lines[queue];
  return line.running && line.commands[line.head].tag == tag;
}

void QueueModel::start_if_ready(std::uint32_t device, Queue queue) {
  Unit& unit = devices_[device];
  Line& line = unit.lines[queue];
  if (line.running || line.head == line.commands.size()) return;
  const Command& command = line.commands[line.head];
  for (std::size_t earlier = 0; earlier < queue; ++earlier) {
    // Counts wrap around after 2^32 commands; their difference does not.
    if (static_cast<std::int32_t>(unit.lines[earlier].ended - command.after[earlier]) < 0) return;
  }
  line.running = true;
  line.started = now_;
  if (unit.running++ == 0) unit.busy_since = now_;
  if (command.duration != kForever) events_.push({now_ + command.duration, events_made_++, device, queue});
}

void QueueModel::duration_over(std::uint32_t device, Queue queue, std::vector<Ended>& ended) {
  const Line& line = devices_[device].lines[queue];
  const double bytes = line.commands[line.head].bytes;
  const std::size_t flow_class = devices_[device].classes[direction(queue)];
  if (queue != compute && bytes > 0 && link_of(queue).is_limited(flow_class)) {
    link_of(queue).start(flow_class, bytes, device);
  } else {
    end(device, queue, ended);
  }
}

void QueueModel::end(std::uint32_t device, Queue queue, std::vector<Ended>& ended) {
  Unit& unit = devices_[device];
  Line& line = unit.lines[queue];
  ended.push_back({{device}, line.commands[line.head].tag, line.started, now_});
  ++line.head;
  ++line.ended;
  line.running = false;
  if (--unit.running == 0) unit.busy += now_ - unit.busy_since;
  for (const Queue later : {upload, compute, download}) {
    if (later >= queue) start_if_ready(device, later);
  }
}

Nanos QueueModel::next() {
  const Nanos flow = std::min(up_.next_end(), down_.next_end());
  return events_.empty() ? flow : std::min(flow, events_.top().at);
}

void QueueModel::advance(Nanos to, std::vector<Ended>& ended) {
  if (to > kEndOfTime)
    throw Error(ErrorKind::usage, "the simulated clock would run for more than six years: less work or fewer samples");
  for (;;) {
    const Nanos at = next();
    if (at > to) break;
    now_ = at;
    for (const Queue queue : {upload, download}) {
      arrived_.clear();
      link_of(queue).advance(now_, arrived_);
      for (const std::uint32_t device : arrived_) end(device, queue, ended);
    }
    while (!events_.empty() && events_.top().at == now_) {
      const Event event = events_.top();
      events_.pop();
      duration_over(event.device, event.queue, ended);
    }
  }
  now_ = to;
  for (const Queue queue : {upload, download}) {  // their clocks too: flows start at the time they have reached
    arrived_.clear();
    link_of(queue).advance(now_, arrived_);
    for (const std::uint32_t device : arrived_) end(device, queue, ended);
  }
}

}  // namespace mgpu
