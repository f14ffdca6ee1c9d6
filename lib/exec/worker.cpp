// Drives a device: enqueues, polls, and returns its work if it fails; iterates with checkpoints and
// rebalancing points; combines or merges partials at the end.
#include "lib/exec/worker.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <thread>
#include <utility>

#include "lib/base/quantity.hpp"

namespace mgpu {

DeviceWorker::DeviceWorker(SampleRun& run, DeviceIndex self)
    : run_(run),
      self_(self),
      notifies_(participant().device->notifies()),
      result_policy_(participant().program->result_policy()),
      iterative_(participant().program->interfaces().iterative) {}

void DeviceWorker::abandon(const std::string& why) {
  participant().device->mark_wedged();
  {
    const std::lock_guard lock(run_.mutex);
    run_.mark_failed(
        {.device = self_, .kind = ErrorKind::timeout, .what = why, .round = round_under_way()},
        false);
  }
  run_.notify_all();
}

// Calls the source. An exception of the source is no failure of this device: it fails the sample,
// as work cannot be given out any more.
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
  participant().device->slow_down().begin_sample(run_.sample.begin);
}

bool DeviceWorker::step() {
  if (left()) return false;
  if (notifies_) epoch_ = participant().device->notifier().epoch();
  seen_ = run_.version;
  seen_stage_ = run_.stage();
  bool progress = true;
  try {
    progress = advance();
  } catch (const Error& error) {
    fail(error.kind(), error.what());
  } catch (const std::exception& error) {
    // Such as lack of host memory: the device counts as failed, but the thread lives.
    fail(ErrorKind::internal, error.what());
  }
  if (run_.version != seen_ || run_.stage() != seen_stage_) run_.notify_all();
  return progress;
}

bool DeviceWorker::advance() {
  if (stage_ == Stage::lost) {
    if (!run_.over()) return false;
    leave();
    return true;
  }
  if (SlowDown& slow_down = participant().device->slow_down(); slow_down.waits_for_share())
    slow_down.reached(share_done(), run_.backend.now());
  if (reported_ != run_.reports.load(std::memory_order_relaxed)) report();
  // All devices that exchange data have to take part, even without a slice.
  if (run_.exchanges(self_) && !prepared_ && !run_.over()) {
    enter(HostState::in_flight);
    prepare(participant().device->stream());
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
    // The timeout is checked first as it is cheaper: this is polled.
    return waited >= run_.request.timeout && waited >= time_limit_of();
  };
  if (overdue()) {
    if (run_.waits_for_another(self_)) {
      last_sign_ = run_.backend.now();
      return act() || progress;
    }
    if (!overdue()) return act() || progress;  // the other device was marked failed in between
    throw Error(ErrorKind::timeout, why_overdue());
  }
  return act() || progress;
}

// Returns the share of the sample's items that all devices have finished. Items of iterative work
// finish only with the last iteration, so there it is the share of this device's iterations.
double DeviceWorker::share_done() const {
  if (rounds_ > 0) return static_cast<double>(rounds_done_) / rounds_;
  return static_cast<double>(run_.finished) /
         static_cast<double>(std::max<Items>(run_.workload.shape().items, 1));
}

bool DeviceWorker::would_act_on_others() {
  return in_flight_.empty() || has_rounds_left() || (policy_.would_ask() && !policy_.done()) ||
         participant().device->slow_down().waits_for_share();
}

void DeviceWorker::rest() {
  if (!notifies_) return std::this_thread::yield();
  OpenDevice& device = *participant().device;
  Nanos wait = device.looked_at_every();
  if (const auto limit = gives_up_at()) wait = std::min(wait, *limit - run_.backend.now());
  if (const auto due = device.due()) wait = std::min(wait, *due - run_.backend.now());
  if (wait <= Nanos{}) return;
  // Set before the version is read, while others change the version before they read the flag: one
  // of the two sees the other.
  run_.listening[self_.value] = stage_ == Stage::lost || would_act_on_others();
  if (run_.version == seen_ && run_.stage() == seen_stage_ && !(run_.over() && in_flight_.empty()))
    device.notifier().wait(epoch_, wait);
  run_.listening[self_.value] = false;
}

std::optional<Nanos> DeviceWorker::gives_up_at() const {
  if (in_flight_.empty()) return std::nullopt;
  return waits_since() + time_limit_of();
}

// Returns since when the first batch in flight has made no progress.
Nanos DeviceWorker::waits_since() const {
  // Commands that waited for a failed device can only end after that failure.
  const Nanos loss = run_.request.peers == nullptr ? Nanos{} : run_.last_loss.load();
  return std::max({in_flight_.front().enqueued, last_sign_, loss});
}

Nanos DeviceWorker::time_limit_of() const {
  return run_.request.timeout + (may_compile() ? run_.backend.limits().build : Nanos{});
}

bool DeviceWorker::may_compile() const {
  return run_.participants[self_.value].device->may_compile(in_flight_.front().batch);
}

std::string DeviceWorker::why_overdue() const {
  return "no answer for " + format_duration(time_limit_of()) +
         (may_compile() ? ", in which its driver may compile a kernel: raise --build-timeout" : "");
}

bool DeviceWorker::retire() {
  bool progress = false;
  while (!in_flight_.empty() && participant().device->complete(in_flight_.front().batch)) {
    const InFlight done = std::move(in_flight_.front());
    in_flight_.pop_front();
    progress = true;
    last_sign_ = run_.backend.now();
    retired_.push_back(
        {done.batch, done.rejected ? kPrepare : done.number, done.round, done.moves});
    if (done.moves) {
      const std::lock_guard lock(run_.mutex);
      run_.sample.migration->time += last_sign_ - run_.rebalance_point.decided;
    }
    if (done.number == kCollect) {
      if (done.completion) done.completion();
      policy_.ended_collect();
      const std::lock_guard lock(run_.mutex);
      if (run_.combines && run_.exchanges(self_)) continue;  // the partial stays on the device
      run_.together = false;  // combining on devices would miss this partial
      participant_state().not_on_host.clear();
      participant_state().records.clear();
    } else if (done.number == kMerge && bringing_) {
      brought(done.completion);
    } else if (done.number == kMerge) {
      merged(done.completion);
    } else if (done.is_checkpoint) {
      read_retired();  // shows whether all commands up to here succeeded
      if (done.completion) done.completion();
      const std::lock_guard lock(run_.mutex);
      ++run_.version;  // others may wait for the slot of the previous checkpoint
    } else if (done.goes_on) {
      rounds_done_ = done.rounds;
    } else {
      rounds_done_ = done.rounds;
      policy_.ended();
      if (done.number == kPrepare) {
        const std::lock_guard lock(run_.mutex);
        participant_state().prepared = true;
      }
      if (done.number != kPrepare && !done.rejected) retire_slice(done);
    }
  }
  return progress;
}

// Returns the time that a slice's batch added to the device's busy time.
Nanos DeviceWorker::busy_with(BatchId batch) {
  const DeviceSpan span = participant().device->span(batch);
  const std::uint64_t from = std::max(span.started, previous_end_);
  previous_end_ = std::max(previous_end_, span.ended);
  return Nanos{span.ended > from ? static_cast<std::int64_t>(span.ended - from) : 0};
}

void DeviceWorker::retire_slice(const InFlight& done) {
  const Nanos busy = run_.source.uses_times() ? busy_with(done.batch) : Nanos{};
  const Nanos now = run_.backend.now();
  if (rounds_ == 0) live_items_ += done.slice.size();
  const bool arrived = result_policy_ == ResultPolicy::slice;
  if (arrived) participant().program->finished(done.slice);
  const std::lock_guard lock(run_.mutex);
  ask_source([&] { run_.source.finished(self_, done.slice, busy); });
  run_.finished += done.slice.size();
  if (arrived) {
    std::erase(participant_state().not_on_host, done.slice);
  } else {
    participant_state().records.push_back(static_cast<std::uint32_t>(run_.sample.slices.size()));
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
    const auto action = policy_.next(run_.version);  // without the lock: this is polled
    if (action == DevicePolicy::Action::none) break;
    progress = true;
    if (action == DevicePolicy::Action::collect) {
      start_collect();
      return true;
    }
    const bool given = ask();
    // Lets other workers ask, as threads would.
    if (given && run_.backend.is_virtual()) return true;
  }
  if (!in_flight_.empty()) return progress;
  enter(HostState::sync);
  if (run_.stage() == SampleRun::Stage::combining) {
    if (bringing_ || brought_at_ == run_.version) return progress;
    start_bringing();
    return true;
  }
  if (run_.stage() == SampleRun::Stage::merging) {
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
      run_.note_handovers();
    });
    run_.sample.decision += run_.backend.now() - begin;
    if (slice) participant_state().not_on_host.push_back(*slice);
  }
  if (slice) enqueue(*slice);
  return slice.has_value();
}

void DeviceWorker::prepare(Stream& stream) {
  prepared_ = true;
  const Nanos now = run_.backend.now();
  participant().program->prepare(stream);
  const BatchId batch = participant().device->submit();
  policy_.enqueued_other();
  in_flight_.push_back({batch, kPrepare, {}, now});
  retire();  // mostly nothing was enqueued, so that it completes at once
}

void DeviceWorker::enqueue(const Slice& slice) {
  enter(HostState::in_flight);
  Stream& stream = participant().device->stream();
  if (!prepared_) prepare(stream);
  InFlight entry{{}, next_number_, slice, run_.backend.now()};
  participant().device->begin_slice();
  try {
    participant().program->enqueue(
        slice, static_cast<unsigned>(next_number_) % DevicePolicy::kDepth, stream);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::out_of_memory) throw;
    entry.rejected = true;
  }
  entry.batch = participant().device->submit();
  rounds_ = entry.rejected ? 0 : std::min(run_.workload.shape().rounds, run_.request.most_rounds);
  next_round_ = entry.rounds = checkpoint_ = rounds_done_ = run_.first_round;
  entry.goes_on = has_rounds_left();
  if (rounds_ > 0) live_items_ = slice.size();
  in_flight_.push_back(entry);
  last_round_ = entry;
  if (!entry.rejected) {
    policy_.enqueued_slice(result_policy_ == ResultPolicy::collect);
    ++next_number_;
    return;
  }
  policy_.enqueued_rejected();
  const std::lock_guard lock(run_.mutex);
  participant_state().not_on_host.pop_back();
  ask_source([&] { run_.source.rejected(self_, slice, slice.size() / 2); });
  ++run_.version;
}

void DeviceWorker::start_collect() {
  const Nanos now = run_.backend.now();
  Completion completion = participant().program->collect(participant().device->stream());
  const BatchId batch = participant().device->submit();
  policy_.enqueued_collect();
  in_flight_.push_back(
      {.batch = batch, .number = kCollect, .enqueued = now, .completion = std::move(completion)});
}

// Reads time stamps of what is complete, and asks for figures.
void DeviceWorker::report() {
  reported_ = run_.reports;
  if (run_.over()) return;
  read_retired();
  if (has_rounds_left() && next_round_ > run_.first_round) report_figures();
}

// Asks the program for figures of the iterations that are enqueued.
void DeviceWorker::report_figures() {
  LiveProgram* const live = participant().program->interfaces().live;
  if (live == nullptr) return;
  InFlight entry = last_round_;
  entry.enqueued = run_.backend.now();
  entry.is_checkpoint = true;
  entry.round.reset();
  entry.completion = live->report(entry.slice, next_round_, participant().device->stream());
  if (!entry.completion) return;
  entry.batch = participant().device->submit();
  in_flight_.push_back(entry);
}

void DeviceWorker::add_to(LiveSample& live) const {
  live.devices.push_back({rounds_done_, live_items_, Nanos{live_busy_ns_}});
}

void DeviceWorker::fail(ErrorKind kind, const std::string& what) {
  const bool waited = !in_flight_.empty();
  const Nanos sign =
      waited ? std::max(in_flight_.front().enqueued, last_sign_) : run_.backend.now();
  stage_ = Stage::lost;
  in_flight_.clear();
  participant().device->abandon();
  bool host_merges = false;
  {
    const std::lock_guard lock(run_.mutex);
    const Nanos detection = run_.backend.now() - std::max(sign, run_.sample.begin);
    host_merges = run_.mark_failed({.device = self_,
                                    .kind = kind,
                                    .what = what,
                                    .detection = detection,
                                    .round = round_under_way()},
                                   true);
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
  for (const auto& [batch, number, round, moves] : retired_) {
    std::vector<RawCommand> commands = participant().device->take(batch);
    if (moves) note_moved_bytes(commands);
    if (number >= 0 && round && is_measured(*round)) measure_round(commands);
    if (number >= 0 && run_.request.live) live_busy_ns_ += busy_of(commands).count();
    for (RawCommand& command : commands) command.round = round;
    // Iterations of the same slice.
    if (number >= 0 && !read_.empty() && read_.back().slice == number) {
      auto& before = read_.back().commands;
      before.insert(before.end(), std::make_move_iterator(commands.begin()),
                    std::make_move_iterator(commands.end()));
    } else {
      read_.push_back({self_, number, std::move(commands)});
    }
  }
  retired_.clear();
}

// Counts what was sent to other devices; puts to its own memory only make room.
void DeviceWorker::note_moved_bytes(std::span<const RawCommand> commands) {
  const auto& places = run_.request.places;
  const DeviceIndex place = self_.value < places.size() ? places[self_.value] : self_;
  const std::lock_guard lock(run_.mutex);
  for (const RawCommand& command : commands)
    if (command.exchange && !command.exchange->arrives && command.exchange->peer != place)
      run_.sample.migration->bytes += command.bytes;
}

void DeviceWorker::leave() {
  if (stage_ != Stage::lost) {
    read_retired();
    check_exchange();
  }
  std::erase_if(read_, [](const RawBatch& batch) { return batch.commands.empty(); });
  SlowDown& slow_down = participant().device->slow_down();
  const std::optional<Nanos> slowed =
      slow_down.handicap().slows_always() ? std::nullopt : slow_down.from();
  slow_down.end_sample();
  const std::lock_guard lock(run_.mutex);
  if (slowed && *slowed < run_.sample.end)
    run_.sample.slowed.push_back({self_, *slowed - run_.sample.begin});
  for (RawBatch& batch : read_) run_.sample.batches.push_back(std::move(batch));
  if (run_.sample.end > state_since_)
    spans_.push_back({self_, state_, state_since_, run_.sample.end});
  auto& all = run_.sample.spans;
  all.insert(all.end(), spans_.begin(), spans_.end());
  stage_ = Stage::left;
}

namespace {

// Largest number of batches of iterations enqueued ahead: enough that the device never waits for
// the host, which polls it every few microseconds, and few enough that an error is noticed soon.
constexpr std::size_t kRoundsAhead = 64;
// Number of iterations before a rebalancing point whose times decide: a batch for each costs 33 us
// more than a common one of stencil on two H100.
constexpr std::uint32_t kMeasuredRounds = 4;

}  // namespace

bool DeviceWorker::enqueue_rounds() {
  bool progress = false;
  while (has_rounds_left() && in_flight_.size() < kRoundsAhead) {
    if (waits_for_rebalance()) return progress;
    if (iterative_->is_one_by_one() && rounds_done_ < next_round_) return progress;
    if (is_checkpoint_due()) {
      if (!run_.workload.movable()->may_checkpoint(next_round_)) return progress;
      enqueue_checkpoint();
    }
    InFlight entry = last_round_;
    entry.enqueued = run_.backend.now();
    entry.moves = false;
    entry.round = next_round_;
    next_round_ += iterative_->enqueue_rounds(entry.slice, next_round_, rounds_at_once(),
                                              participant().device->stream());
    entry.batch = participant().device->submit();
    entry.rounds = next_round_;
    entry.goes_on = has_rounds_left();
    in_flight_.push_back(entry);
    last_round_ = entry;
    progress = true;
    if (!has_rounds_left() && run_.request.live) report_figures();
  }
  return progress;
}

// Returns the number of iterations in one batch: one if the time of each decides how to rebalance;
// else up to the next ones of these or checkpoint, after which the state has to be in memory.
std::uint32_t DeviceWorker::rounds_at_once() const {
  if (is_measured(next_round_)) return 1;
  const std::uint32_t end = run_.rebalance_at > 0 ? run_.rebalance_at - kMeasuredRounds : rounds_;
  const std::uint32_t every = run_.request.merges ? run_.workload.shape().checkpoint_rounds : 0;
  return every > 0 ? std::min(end - next_round_, every - next_round_ % every) : end - next_round_;
}

// Tells whether the iteration is one of the last before a rebalancing point, which are timed one by
// one.
bool DeviceWorker::is_measured(std::uint32_t round) const {
  return run_.rebalance_at > 0 && round + kMeasuredRounds >= run_.rebalance_at;
}

// Tells whether the worker must wait at a rebalancing point. It arrives when its iterations are
// complete, and continues when all have arrived.
bool DeviceWorker::waits_for_rebalance() {
  if (came_to_ < next_round_ && run_.rebalance_at == next_round_) {
    if (!in_flight_.empty()) return true;
    read_retired();
    const std::lock_guard lock(run_.mutex);
    run_.arrive_at_rebalance(self_, std::exchange(busy_, {}));
    came_to_ = next_round_;
    waits_ = true;
  }
  if (!waits_) return false;
  if (run_.rebalanced_at < came_to_) return true;
  waits_ = false;
  std::optional<Slice> to;
  {
    const std::lock_guard lock(run_.mutex);
    if (run_.rebalance_point.moved_at == came_to_) to = run_.rebalance_point.ranges[self_.value];
  }
  if (to) move(*to);
  return false;
}

void DeviceWorker::move(const Slice& to) {
  InFlight entry = last_round_;
  const Slice from = entry.slice;
  entry.slice = to;
  entry.moves = true;
  entry.round.reset();
  entry.enqueued = run_.backend.now();
  participant().program->interfaces().movable->move(from, to, next_round_,
                                                    participant().device->stream());
  entry.batch = participant().device->submit();
  live_items_ = to.size();
  in_flight_.push_back(entry);
  last_round_ = entry;
  const std::lock_guard lock(run_.mutex);
  participant_state().not_on_host = {to};
}

// Records the device's own time in an iteration, without exchanges and waits for others.
void DeviceWorker::measure_round(std::span<const RawCommand> commands) {
  if (const Nanos busy = busy_of(commands); busy > Nanos{}) busy_.push_back(busy);
}

bool DeviceWorker::is_checkpoint_due() const {
  const std::uint32_t every = run_.workload.shape().checkpoint_rounds;
  // A probe, which does not merge, has only part of the items and needs no checkpoint.
  return run_.request.merges && every > 0 && next_round_ > checkpoint_ && next_round_ % every == 0;
}

void DeviceWorker::enqueue_checkpoint() {
  InFlight entry = last_round_;
  entry.enqueued = run_.backend.now();
  entry.moves = false;
  entry.is_checkpoint = true;
  entry.round.reset();
  entry.completion = participant().program->interfaces().movable->checkpoint(
      entry.slice, next_round_, participant().device->stream());
  entry.batch = participant().device->submit();
  in_flight_.push_back(entry);
  checkpoint_ = next_round_;
}

std::optional<std::uint32_t> DeviceWorker::round_under_way() const {
  if (run_.workload.iterative() == nullptr) return std::nullopt;
  return rounds_done_;
}

// Returns the time of kernels, without exchanges.
Nanos DeviceWorker::busy_of(std::span<const RawCommand> commands) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> stamps;
  for (const RawCommand& command : commands)
    if (!command.exchange && command.kind == CommandKind::compute)
      stamps.push_back({command.started, command.ended});
  return Nanos{static_cast<std::int64_t>(length_of_union(std::move(stamps)))};
}

// Tries to end the computation. The last worker with nothing left to do merges on the host, or
// begins the stage in which devices combine or merge; no other worker acts any more.
bool DeviceWorker::try_finish() {
  // Without the lock: this is polled while the last worker merges.
  if (done_at_ == run_.version) return false;
  SampleRun::Ending ending;
  {
    const std::lock_guard lock(run_.mutex);
    done_at_ = run_.version;
    ending = run_.finish(self_);
  }
  if (ending == SampleRun::Ending::host_merges) merge_on_host();
  return ending != SampleRun::Ending::others_are_at_work;
}

void DeviceWorker::start_merge() {
  const Nanos now = run_.backend.now();
  Completion completion =
      participant().program->interfaces().merging->merge(participant().device->stream());
  const BatchId batch = participant().device->submit();
  policy_.enqueued_other();
  in_flight_.push_back(
      {.batch = batch, .number = kMerge, .enqueued = now, .completion = std::move(completion)});
}

void DeviceWorker::start_bringing() {
  enter(HostState::in_flight);
  const Nanos now = run_.backend.now();
  Completion completion = participant().program->interfaces().combining->bring(
      run_.together, participant().device->stream());
  const BatchId batch = participant().device->submit();
  bringing_ = true;
  policy_.enqueued_other();
  in_flight_.push_back(
      {.batch = batch, .number = kMerge, .enqueued = now, .completion = std::move(completion)});
}

// Ends the copy of this device's part to the host. The last worker to do so merges.
void DeviceWorker::brought(const Completion& completion) {
  policy_.ended();
  bringing_ = false;
  if (completion) completion();
  {
    const std::lock_guard lock(run_.mutex);
    // A device failed: there may be more to copy.
    if (run_.stage() != SampleRun::Stage::combining) return;
    brought_at_ = run_.version;
    if (!run_.bring(self_)) return;
  }
  merge_on_host();
}

void DeviceWorker::merged(const Completion& completion) {
  policy_.ended();
  if (completion) completion();
  const std::lock_guard lock(run_.mutex);
  run_.sample.merged_on = self_;
  run_.end();
  run_.sample.merge_end = run_.sample.end;
}

void DeviceWorker::merge_on_host() {
  RawSample& sample = run_.sample;
  std::optional<Error> failure;
  try {
    if (run_.request.merges) run_.workload.merge();
  } catch (const Error& error) {
    failure = error;
  } catch (const std::exception& error) {
    failure = Error(ErrorKind::internal, error.what());
  }
  const std::lock_guard lock(run_.mutex);
  if (run_.over()) return;  // the sample was interrupted
  sample.failure = std::move(failure);
  run_.end();
  sample.merge_end = sample.end;
}

// Checks that all data the device waited for arrived: a kernel that waits for a flag gives up
// before the device counts as hung.
void DeviceWorker::check_exchange() {
  if (run_.request.peers == nullptr || self_.value >= run_.request.places.size()) return;
  try {
    run_.request.peers->check(run_.request.places[self_.value]);
  } catch (const Error& error) {
    const std::lock_guard lock(run_.mutex);
    if (!run_.sample.failure) run_.sample.failure = error;
  }
}

}  // namespace mgpu
