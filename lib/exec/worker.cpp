// The worker of a device: enqueues, polls, gives work back when its device fails. How it merges is
// in worker_merge.cpp.
#include "lib/exec/worker.hpp"

#include <algorithm>
#include <iterator>
#include <thread>
#include <utility>

#include "lib/base/quantity.hpp"

namespace mgpu {
DeviceWorker::DeviceWorker(SampleRun& run, DeviceIndex self)
    : run_(run),
      self_(self),
      notifies_(member().device->notifies()),
      brings_(member().program->brings()),
      iterative_(member().program->interfaces().iterative) {}

void DeviceWorker::abandon(const std::string& why) {
  member().device->leave_thread_inside();
  {
    const std::lock_guard lock(run_.mutex);
    run_.lose(
        {.device = self_, .kind = ErrorKind::timeout, .what = why, .round = round_under_way()});
  }
  run_.notify_all();
}

// What a source throws is not a failure of the device that asked: nobody can take what is left.
template <class Function>
void DeviceWorker::ask_source(Function&& function) {
  try {
    function();
  } catch (const Error& error) {
    run_.fail(error);
  }
}

void DeviceWorker::start() {
  state_since_ = run_.backend.now();
  if (state_since_ > run_.sample.begin)
    spans_.push_back({self_, HostState::waking, run_.sample.begin, state_since_});
  member().device->slow_down().begin_sample(run_.sample.begin);
}

bool DeviceWorker::step() {
  if (left()) return false;
  if (notifies_) epoch_ = member().device->notifier().epoch();
  seen_ = run_.version;
  seen_stage_ = run_.stage;
  bool progress = true;
  try {
    progress = advance();
  } catch (const Error& error) {
    fail(error.kind(), error.what());
  } catch (const std::exception&
               error) {  // out of host memory, say: this device's part is lost, the thread lives
    fail(ErrorKind::internal, error.what());
  }
  if (run_.version != seen_ || run_.stage != seen_stage_) run_.notify_all();
  return progress;
}

bool DeviceWorker::advance() {
  if (stage_ == Stage::lost) {
    if (!run_.over()) return false;
    leave();
    return true;
  }
  if (SlowDown& slow_down = member().device->slow_down(); slow_down.waits_for_share())
    slow_down.reached(share_done(), run_.backend.now());
  // All who exchange data have to take part, with or without a slice.
  if (run_.exchanges(self_) && !prepared_ && !run_.over()) {
    enter(HostState::in_flight);
    prepare(member().device->stream());
  }
  const bool progress = retire();
  if (run_.over() && in_flight_.empty()) {
    leave();
    return true;
  }
  if (run_.over() && run_.backend.now() >= run_.stop_by.load())
    throw Error(ErrorKind::interrupted, "stopped while it was at work");
  const auto overdue = [&] {
    if (in_flight_.empty()) return false;
    const Nanos waited = run_.backend.now() - waits_since();
    return waited >= run_.timeout && waited >= patience();  // cheapest first: this is polled
  };
  if (overdue()) {
    if (run_.waits_for_another(self_)) {
      last_sign_ = run_.backend.now();
      return act() || progress;
    }
    if (!overdue()) return act() || progress;  // the other was lost in between
    throw Error(ErrorKind::timeout, why_overdue());
  }
  return act() || progress;
}

// Of the sample's items, by all devices; where work goes in rounds and no item is finished before
// the last one, of its own rounds.
double DeviceWorker::share_done() const {
  if (rounds_ > 0) return static_cast<double>(rounds_done_) / rounds_;
  return static_cast<double>(run_.finished) /
         static_cast<double>(std::max<Items>(run_.workload.shape().items, 1));
}

bool DeviceWorker::would_act_on_others() {
  return in_flight_.empty() || has_rounds_left() || (policy_.would_ask() && !policy_.done()) ||
         member().device->slow_down().waits_for_share();
}

void DeviceWorker::rest() {
  if (!notifies_) return std::this_thread::yield();
  OpenDevice& device = *member().device;
  Nanos wait = device.looked_at_every();
  if (const auto limit = gives_up_at()) wait = std::min(wait, *limit - run_.backend.now());
  if (const auto due = device.due()) wait = std::min(wait, *due - run_.backend.now());
  if (wait <= Nanos{}) return;
  // Whoever changes the version looks at this flag afterwards: one of the two sees the other.
  run_.listening[self_.value] = stage_ == Stage::lost || would_act_on_others();
  if (run_.version == seen_ && run_.stage == seen_stage_ && !(run_.over() && in_flight_.empty()))
    device.notifier().wait(epoch_, wait);
  run_.listening[self_.value] = false;
}

std::optional<Nanos> DeviceWorker::gives_up_at() const {
  if (in_flight_.empty()) return std::nullopt;
  return waits_since() + patience();
}

// For the first of what is in flight.
Nanos DeviceWorker::waits_since() const {
  // What waited for a device that was lost begins to end with that loss.
  const Nanos loss = run_.peers == nullptr ? Nanos{} : run_.last_loss.load();
  return std::max({in_flight_.front().enqueued, last_sign_, loss});
}

Nanos DeviceWorker::patience() const {
  return run_.timeout + (may_compile() ? run_.backend.limits().build : Nanos{});
}

bool DeviceWorker::may_compile() const {
  return run_.members[self_.value].device->may_compile(in_flight_.front().batch);
}

std::string DeviceWorker::why_overdue() const {
  return "no answer for " + format_duration(patience()) +
         (may_compile() ? ", in which its driver may compile a kernel: raise --build-timeout" : "");
}

bool DeviceWorker::retire() {
  bool progress = false;
  while (!in_flight_.empty() && member().device->complete(in_flight_.front().batch)) {
    const InFlight done = std::move(in_flight_.front());
    in_flight_.pop_front();
    progress = true;
    last_sign_ = run_.backend.now();
    retired_.push_back({done.batch, done.rejected ? kPrepare : done.number, done.round});
    if (done.number == kCollect) {
      if (done.completion) done.completion();
      policy_.ended_collect();
      const std::lock_guard lock(run_.mutex);
      if (run_.combines && run_.exchanges(self_)) continue;  // it stays on the device
      run_.together = false;  // what the others combine would lack it
      seat().not_on_host.clear();
      seat().records.clear();
    } else if (done.number == kMerge && bringing_) {
      brought(done.completion);
    } else if (done.number == kMerge) {
      merged(done.completion);
    } else if (done.is_checkpoint) {
      read_retired();  // which tells whether all that led there succeeded
      if (done.completion) done.completion();
      const std::lock_guard lock(run_.mutex);
      ++run_.version;  // others may wait for the place of the one before
    } else if (done.goes_on) {
      rounds_done_ = done.rounds;
    } else {
      rounds_done_ = done.rounds;
      policy_.ended();
      if (done.number == kPrepare) {
        const std::lock_guard lock(run_.mutex);
        seat().prepared = true;
      }
      if (done.number != kPrepare && !done.rejected) retire_slice(done);
    }
  }
  return progress;
}

// What the batch of a slice added to the device's time.
Nanos DeviceWorker::busy_with(BatchId batch) {
  const DeviceSpan span = member().device->span(batch);
  const std::uint64_t from = std::max(span.started, previous_end_);
  previous_end_ = std::max(previous_end_, span.ended);
  return Nanos{span.ended > from ? static_cast<std::int64_t>(span.ended - from) : 0};
}

void DeviceWorker::retire_slice(const InFlight& done) {
  const Nanos busy = run_.source.uses_times() ? busy_with(done.batch) : Nanos{};
  const Nanos now = run_.backend.now();
  const bool arrived = brings_ == Brings::slice;
  if (arrived) member().program->finished(done.slice);
  const std::lock_guard lock(run_.mutex);
  ask_source([&] { run_.source.finished(self_, done.slice, busy); });
  run_.finished += done.slice.size();
  if (arrived) {
    std::erase(seat().not_on_host, done.slice);
  } else {
    seat().records.push_back(static_cast<std::uint32_t>(run_.sample.slices.size()));
  }
  run_.sample.slices.push_back(
      {{self_, done.number, done.slice.begin, done.slice.end, done.enqueued, now}});
  ++run_.version;
}

bool DeviceWorker::act() {
  bool progress = false;
  for (;;) {
    if (run_.over()) return progress;
    progress |= enqueue_rounds();
    if (has_rounds_left()) return progress;
    const auto action = policy_.next(run_.version);  // no lock: this is polled
    if (action == DevicePolicy::Action::none) break;
    progress = true;
    if (action == DevicePolicy::Action::collect) {
      start_collect();
      return true;
    }
    const bool given = ask();
    if (given && run_.backend.is_virtual()) return true;  // threads would ask meanwhile
  }
  if (!in_flight_.empty()) return progress;
  enter(HostState::sync);
  if (run_.stage == SampleRun::Stage::combining) {
    if (bringing_ || brought_at_ == run_.version) return progress;
    start_bringing();
    return true;
  }
  if (run_.stage == SampleRun::Stage::merging) {
    if (self_ != run_.merge_device.load()) return progress;
    start_merge();
    return true;
  }
  return (policy_.done() && try_finish()) || progress;
}

bool DeviceWorker::ask() {
  std::optional<Slice> slice;
  {
    const std::lock_guard lock(run_.mutex);
    if (run_.over()) return false;
    const Nanos begin = run_.backend.now();
    ask_source([&] {
      const Answer answer = run_.source.next(self_);
      policy_.answered(answer, run_.version);
      if (const auto* given = std::get_if<Slice>(&answer)) slice = *given;
    });
    run_.sample.decision += run_.backend.now() - begin;
    if (slice) seat().not_on_host.push_back(*slice);
  }
  if (slice) enqueue(*slice);
  return slice.has_value();
}

void DeviceWorker::prepare(Stream& stream) {
  prepared_ = true;
  const Nanos now = run_.backend.now();
  member().program->prepare(stream);
  const BatchId batch = member().device->submit();
  policy_.enqueued_other();
  in_flight_.push_back({batch, kPrepare, {}, now});
  retire();  // as a rule nothing was enqueued
}

void DeviceWorker::enqueue(const Slice& slice) {
  enter(HostState::in_flight);
  Stream& stream = member().device->stream();
  if (!prepared_) prepare(stream);
  InFlight entry{{}, next_number_, slice, run_.backend.now()};
  member().device->begin_slice();
  try {
    member().program->enqueue(slice, static_cast<unsigned>(next_number_) % DevicePolicy::kDepth,
                              stream);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::out_of_memory) throw;
    entry.rejected = true;
  }
  entry.batch = member().device->submit();
  rounds_ = entry.rejected ? 0 : std::min(run_.workload.shape().rounds, run_.most_rounds);
  next_round_ = entry.rounds = checkpoint_ = rounds_done_ = run_.first_round;
  entry.goes_on = has_rounds_left();
  in_flight_.push_back(entry);
  last_round_ = entry;
  if (!entry.rejected) {
    policy_.enqueued_slice(brings_ == Brings::collect);
    ++next_number_;
    return;
  }
  policy_.enqueued_rejected();
  const std::lock_guard lock(run_.mutex);
  seat().not_on_host.pop_back();
  ask_source([&] { run_.source.rejected(self_, slice, slice.size() / 2); });
  ++run_.version;
}

void DeviceWorker::start_collect() {
  const Nanos now = run_.backend.now();
  Completion completion = member().program->collect(member().device->stream());
  const BatchId batch = member().device->submit();
  policy_.enqueued_collect();
  in_flight_.push_back(
      {.batch = batch, .number = kCollect, .enqueued = now, .completion = std::move(completion)});
}

void DeviceWorker::fail(ErrorKind kind, const std::string& what) {
  const bool was_merging =
      run_.stage == SampleRun::Stage::merging && self_ == run_.merge_device.load();
  DeviceMerge* const merge = run_.workload.device_merge();
  const bool host_merges = was_merging && (merge == nullptr || merge->merges_on_host());
  const bool waited = !in_flight_.empty();
  const Nanos sign =
      waited ? std::max(in_flight_.front().enqueued, last_sign_) : run_.backend.now();
  stage_ = Stage::lost;
  in_flight_.clear();
  member().device->abandon();
  {
    const std::lock_guard lock(run_.mutex);
    const Nanos detection = run_.backend.now() - std::max(sign, run_.sample.begin);
    if (host_merges) {  // the partials are on the host: nothing is lost but the device
      run_.seats[self_.value].alive = false;
      run_.sample.faults.push_back(
          {self_, kind, what, run_.backend.now() - run_.sample.begin, detection, true, {}, 0});
      run_.stage = SampleRun::Stage::working;
    } else {
      run_.lose({.device = self_,
                 .kind = kind,
                 .what = what,
                 .detection = detection,
                 .merging = was_merging,
                 .round = round_under_way()});
    }
  }
  if (host_merges) merge_on_host();
}

void DeviceWorker::enter(HostState state) {
  if (state == state_) return;
  const Nanos now = run_.backend.now();
  if (now > state_since_) spans_.push_back({self_, state_, state_since_, now});
  state_ = state;
  state_since_ = now;
}

void DeviceWorker::read_retired() {
  for (const auto& [batch, number, round] : retired_) {
    std::vector<RawCommand> commands = member().device->take(batch);
    if (number >= 0 && run_.meets_at > 0) measure_round(commands);
    for (RawCommand& command : commands) command.round = round;
    if (number >= 0 && !read_.empty() && read_.back().slice == number) {  // rounds of a slice
      auto& before = read_.back().commands;
      before.insert(before.end(), std::make_move_iterator(commands.begin()),
                    std::make_move_iterator(commands.end()));
    } else {
      read_.push_back({self_, number, std::move(commands)});
    }
  }
  retired_.clear();
}

void DeviceWorker::leave() {
  if (stage_ != Stage::lost) {
    read_retired();
    check_exchange();
  }
  std::erase_if(read_, [](const RawBatch& batch) { return batch.commands.empty(); });
  member().device->slow_down().end_sample();
  const std::lock_guard lock(run_.mutex);
  for (RawBatch& batch : read_) run_.sample.batches.push_back(std::move(batch));
  if (run_.sample.end > state_since_)
    spans_.push_back({self_, state_, state_since_, run_.sample.end});
  auto& all = run_.sample.spans;
  all.insert(all.end(), spans_.begin(), spans_.end());
  stage_ = Stage::left;
}

}  // namespace mgpu
