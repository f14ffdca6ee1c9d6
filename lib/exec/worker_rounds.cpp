// The worker of a device, where work goes in rounds: what it enqueues ahead, checkpoints, and
// meetings after which borders move.
#include <algorithm>
#include <optional>
#include <utility>

#include "lib/base/stats.hpp"
#include "lib/exec/worker.hpp"

namespace mgpu {
namespace {

// Of work that goes in rounds, batches that are enqueued ahead: enough for the device never to wait
// for the host, which looks at it every few microseconds, and few enough for an error to be noticed
// soon.
constexpr std::size_t kRoundsAhead = 64;

}  // namespace

bool DeviceWorker::enqueue_rounds() {
  bool progress = false;
  while (has_rounds_left() && in_flight_.size() < kRoundsAhead) {
    if (is_held_by_meeting()) return progress;
    if (is_checkpoint_due()) {
      if (!run_.workload.movable()->may_checkpoint(next_round_)) return progress;
      enqueue_checkpoint();
    }
    InFlight entry = last_round_;
    entry.enqueued = run_.backend.now();
    entry.round = next_round_;
    next_round_ += iterative_->enqueue_rounds(entry.slice, next_round_, rounds_at_once(),
                                              member().device->stream());
    entry.batch = member().device->submit();
    entry.rounds = next_round_;
    entry.goes_on = has_rounds_left();
    in_flight_.push_back(entry);
    last_round_ = entry;
    progress = true;
  }
  return progress;
}

// Those on whose time borders move are looked at one by one; after a checkpoint's rounds the state
// has to be in memory.
std::uint32_t DeviceWorker::rounds_at_once() const {
  if (run_.meets_at > 0) return 1;
  const std::uint32_t every = run_.merges ? run_.workload.shape().checkpoint_rounds : 0;
  return every > 0 ? std::min(rounds_ - next_round_, every - next_round_ % every)
                   : rounds_ - next_round_;
}

// Comes to it when its rounds are over, and goes on when all have come.
bool DeviceWorker::is_held_by_meeting() {
  if (came_to_ < next_round_ && run_.meets_at == next_round_) {
    if (!in_flight_.empty()) return true;
    read_retired();
    const std::lock_guard lock(run_.mutex);
    run_.come_to_meeting(self_, busy_.empty() ? Nanos{} : summarise(busy_).median);
    came_to_ = next_round_;
    waits_ = true;
    busy_.clear();
  }
  if (!waits_) return false;
  if (run_.met_at < came_to_) return true;
  waits_ = false;
  std::optional<Slice> to;
  {
    const std::lock_guard lock(run_.mutex);
    if (run_.meeting.moved_at == came_to_) to = run_.meeting.ranges[self_.value];
  }
  if (to) move(*to);
  return false;
}

void DeviceWorker::move(const Slice& to) {
  InFlight entry = last_round_;
  const Slice from = entry.slice;
  entry.slice = to;
  entry.round.reset();
  entry.enqueued = run_.backend.now();
  member().program->interfaces().movable->move(from, to, next_round_, member().device->stream());
  entry.batch = member().device->submit();
  in_flight_.push_back(entry);
  last_round_ = entry;
  const std::lock_guard lock(run_.mutex);
  seat().not_on_host = {to};
}

// The device's own part of a round: neither what it sends others nor how long it waits for them.
void DeviceWorker::measure_round(std::span<const RawCommand> commands) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> stamps;
  for (const RawCommand& command : commands)
    if (!command.exchange && command.kind == CommandKind::compute)
      stamps.push_back({command.started, command.ended});
  if (stamps.empty()) return;
  busy_.emplace_back(static_cast<std::int64_t>(length_of_union(std::move(stamps))));
}

bool DeviceWorker::is_checkpoint_due() const {
  const std::uint32_t every = run_.workload.shape().checkpoint_rounds;
  // A probe is of a part of the items.
  return run_.merges && every > 0 && next_round_ > checkpoint_ && next_round_ % every == 0;
}

void DeviceWorker::enqueue_checkpoint() {
  InFlight entry = last_round_;
  entry.enqueued = run_.backend.now();
  entry.is_checkpoint = true;
  entry.round.reset();
  entry.completion = member().program->interfaces().movable->checkpoint(entry.slice, next_round_,
                                                                        member().device->stream());
  entry.batch = member().device->submit();
  in_flight_.push_back(entry);
  checkpoint_ = next_round_;
}

std::optional<std::uint32_t> DeviceWorker::round_under_way() const {
  if (run_.workload.iterative() == nullptr) return std::nullopt;
  return rounds_done_;
}

}  // namespace mgpu
