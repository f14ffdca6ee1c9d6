#include "lib/cluster/node_link.hpp"

#include <algorithm>
#include <utility>

#include "lib/base/quantity.hpp"

namespace mgpu {
namespace {

constexpr Nanos kAskedEvery = std::chrono::milliseconds(10);
// Longest wait for one exchange with a clock: a slower one says nothing about it.
constexpr Nanos kLongestLook = std::chrono::seconds(1);

void deliver(const RemoteArrivals::Download& wanted, std::span<const std::byte> data) {
  const Rows& rows = wanted.rows;
  if (data.size() != rows.length * rows.count)
    throw Error(ErrorKind::internal, "a download of another length");
  for (Bytes i = 0; i < rows.count; ++i)
    std::copy_n(data.data() + i * rows.length, rows.length, wanted.to + i * rows.host_stride);
}

}  // namespace

Writer NodeLink::begin(Call call, std::uint32_t device) {
  Writer out(call);
  out.put(device).put(std::uint64_t{0});
  return out;
}

void NodeLink::send(Writer call) { post_.send(rank_, call.take()); }

Writer NodeLink::begin_asking(Call call, std::uint32_t device) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t ticket = next_ticket_++;
  answers_.emplace(ticket, std::nullopt);
  Writer out(call);
  out.put(device).put(ticket);
  return out;
}

Message NodeLink::ask(Writer call, const std::string& what, Nanos limit, const StopCheck& stop) {
  Message message = call.take();
  std::uint64_t ticket = 0;
  std::memcpy(&ticket, message.data() + sizeof(Call) + sizeof(std::uint32_t), sizeof ticket);
  post_.send(rank_, std::move(message));
  std::unique_lock lock(mutex_);
  const auto release_failed = [&](const Error& error) {
    answers_.erase(ticket);
    throw Error(error);
  };
  for (Nanos waited{}; !answers_[ticket]; waited += kAskedEvery) {
    if (changed_.wait_for(lock, kAskedEvery, [&] { return answers_[ticket].has_value(); })) break;
    if (const auto why = post_.lost(rank_))
      release_failed(Error(ErrorKind::device, name() + " is lost: " + *why));
    if (post_.is_stuck())
      release_failed(
          Error(ErrorKind::device, name() + " cannot be reached: MPI does not return from a call"));
    if (waited >= limit)
      release_failed(Error(ErrorKind::timeout,
                           what + ": " + name() + " did not answer for " + format_duration(limit)));
    if (!stop) continue;
    lock.unlock();
    const bool stopped = stop();
    lock.lock();
    if (stopped)
      release_failed(Error(ErrorKind::interrupted, "stopped while " + name() + " was at work"));
  }
  Message answer = std::move(*answers_[ticket]);
  answers_.erase(ticket);
  lock.unlock();
  Reader in(answer);
  if (in.get<bool>()) {
    answer.erase(answer.begin(), answer.begin() + sizeof(bool));
    return answer;
  }
  const Error error = read_error(in);
  throw Error(error.kind(), std::string(error.what()) + " (" + name() + ")");
}

void NodeLink::throw_if_lost() const {
  if (const auto why = post_.lost(rank_))
    throw Error(ErrorKind::device, name() + " is lost: " + *why);
  if (post_.is_stuck())
    throw Error(ErrorKind::device, name() + " cannot be reached: MPI does not return from a call");
}

void NodeLink::look_at_clock(std::uint32_t exchanges) {
  std::unique_lock lock(mutex_);
  const std::uint64_t enough = looks_ + exchanges;
  post_.ask_clock(rank_, exchanges);
  for (std::uint64_t before = looks_; looks_ < enough; before = looks_) {
    if (changed_.wait_for(lock, kLongestLook, [&] { return looks_ != before; })) continue;
    lock.unlock();
    return throw_if_lost();
  }
}

NodeClock NodeLink::clock() const {
  const std::lock_guard lock(mutex_);
  return clock_;
}

std::uint32_t NodeLink::add_device(std::shared_ptr<RemoteArrivals> arrivals) {
  const std::lock_guard lock(mutex_);
  devices_[next_device_] = std::move(arrivals);
  return next_device_++;
}

void NodeLink::remove_device(std::uint32_t device) {
  const std::lock_guard lock(mutex_);
  devices_.erase(device);
}

void NodeLink::awaits(RemoteArrivals& device) {
  const std::lock_guard lock(device.mutex);
  ++device.awaited;
  post_.expect(1, device.imminent);
}

void NodeLink::awaits_nothing(RemoteArrivals& device) {
  const std::lock_guard lock(device.mutex);
  post_.expect(-std::exchange(device.awaited, 0), device.imminent);
}

void NodeLink::looked(const ClockExchange& exchange) {
  {
    const std::lock_guard lock(mutex_);
    clock_.add(exchange);
    ++looks_;
  }
  changed_.notify_all();
}

void NodeLink::lost() {
  changed_.notify_all();
  const std::lock_guard lock(mutex_);
  for (const auto& [number, device] : devices_) device->notifier->notify();
}

void NodeLink::arrived(Message message) {
  Reader in(message);
  const auto call = in.get<Call>();
  if (call == Call::answer) return answered(in, message);
  if (call == Call::completed) return completed(in);
  if (call != Call::at_rest) throw Error(ErrorKind::internal, name() + " sent what nobody knows");
  const auto device = in.get<std::uint32_t>();
  const std::lock_guard lock(mutex_);
  if (const auto at = devices_.find(device); at != devices_.end()) {
    const std::lock_guard theirs(at->second->mutex);
    at->second->at_rest = in.get<std::uint64_t>();
  }
}

void NodeLink::answered(Reader& in, const Message& message) {
  {
    const auto ticket = in.get<std::uint64_t>();
    const std::lock_guard lock(mutex_);
    const auto at = answers_.find(ticket);
    if (at == answers_.end()) return;  // no longer waited for
    at->second.emplace(message.begin() + sizeof(Call) + sizeof ticket, message.end());
  }
  changed_.notify_all();
}

void NodeLink::completed(Reader& in) {
  std::shared_ptr<RemoteArrivals> device;
  {
    const auto number = in.get<std::uint32_t>();
    const std::lock_guard lock(mutex_);
    if (const auto at = devices_.find(number); at != devices_.end()) device = at->second;
  }
  if (device == nullptr) return;
  {
    const std::lock_guard lock(device->mutex);
    const auto batch = in.get<std::uint64_t>();
    if (device->awaited > 0) {
      --device->awaited;
      post_.expect(-1, device->imminent);
    }
    RemoteArrivals::Completed done;
    if (in.get<bool>()) {
      const Error error = read_error(in);
      done.error.emplace(error.kind(), std::string(error.what()) + " (" + name() + ")");
    } else {
      done.span = in.get<DeviceSpan>();
      while (!in.is_empty()) {
        const auto download = in.get<std::uint64_t>();
        const auto data = in.bytes();
        const auto wanted = device->downloads.find(download);
        if (wanted == device->downloads.end()) continue;  // abandoned
        deliver(wanted->second, data);
        device->downloads.erase(wanted);
      }
    }
    device->completed.emplace(batch, std::move(done));
  }
  device->notifier->notify();
}

}  // namespace mgpu
