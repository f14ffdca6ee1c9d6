// See the header.
#include "lib/exec/worker.hpp"

#include <algorithm>
#include <thread>

#include "lib/base/quantity.hpp"

namespace mgpu {
namespace {

constexpr std::size_t kDepth = 2;  // slices in flight: one transfers while the other computes

// Polls to the end of a batch, on either clock. Throws Error(timeout).
void wait_for(Backend& backend, OpenDevice& device, BatchId batch, std::optional<Nanos> timeout) {
  const auto deadline = timeout ? std::optional(backend.now() + *timeout) : std::nullopt;
  while (!device.complete(batch)) {
    if (deadline && backend.now() >= *deadline) throw Error(ErrorKind::timeout, "the device did not finish the merge in time");
    if (backend.is_virtual()) {
      if (!backend.advance(deadline)) throw Error(ErrorKind::internal, "the merge never ends");
    } else {
      std::this_thread::yield();
    }
  }
}

void merge_on_device(SampleRun& run) {
  Member& best = run.members[run.merge_device.value];
  best.program->merge(best.device->stream());
  const BatchId batch = best.device->submit();
  wait_for(run.backend, *best.device, batch, run.timeout);
  run.sample.batches.push_back({run.merge_device, kMerge, best.device->take(batch)});
  best.program->merged();
  run.sample.merged_on = run.merge_device;
}

// On the fastest device when the workload wants one; on the host otherwise, and when that device fails.
void merge(SampleRun& run) {
  const std::size_t best = run.merge_device.value;
  if (run.alive[best] && run.workload.merge_on_device(run.members[best].device->resources().traits())) {
    try {
      merge_on_device(run);
      return;
    } catch (const Error& error) {
      run.alive[best] = false;
      run.sample.faults.push_back({run.merge_device, error.what(), 0, error.kind() == ErrorKind::timeout});
    }
  }
  run.workload.merge();
}

// All partials are on the host and every worker is at rest: the last one to settle merges, which spares waking a thread.
void finish_sample(SampleRun& run) {
  RawSample& sample = run.sample;
  sample.merge_begin = run.backend.now();
  try {
    if (run.merges) merge(run);
  } catch (const Error& error) {
    sample.failure = error;
  } catch (const std::exception& error) {
    sample.failure = Error(ErrorKind::internal, error.what());
  }
  sample.merge_end = sample.end = run.backend.now();
  run.over = true;
}

}  // namespace

DeviceWorker::DeviceWorker(SampleRun& run, DeviceIndex self) : run_(run), self_(self), rings_(member().device->rings()) {}

void DeviceWorker::start() {
  state_since_ = run_.sample.begin;
  member().device->pace().begin_sample(run_.sample.begin);
}

bool DeviceWorker::step() {
  if (left_) return false;
  if (rings_) heard_ = member().device->bell().count();
  seen_ = run_.version;
  const bool over = run_.over;
  bool progress = true;
  try {
    progress = advance();
  } catch (const Error& error) {
    fail(error);
  } catch (const std::exception& error) {  // out of host memory, say: this device's part is lost, the thread lives
    fail(Error(ErrorKind::internal, error.what()));
  }
  if (run_.version != seen_ || run_.over != over) tell_others();
  return progress;
}

bool DeviceWorker::advance() {
  // Not when nothing is in flight: another worker may then merge on this device.
  if (Pace& pace = member().device->pace(); !in_flight_.empty() && pace.waits_for_share()) {
    const auto items = static_cast<double>(std::max<Items>(run_.workload.shape().items, 1));
    pace.reached(static_cast<double>(run_.finished) / items, run_.backend.now());
  }
  bool progress = gone_ ? false : retire();
  if (run_.over && in_flight_.empty()) {
    leave();
    return true;
  }
  if (gone_) return progress;
  if (const auto limit = gives_up_at(); limit && run_.backend.now() >= *limit) {
    throw Error(ErrorKind::timeout, "no answer for " + format_duration(*run_.timeout));
  }
  if (!collecting_) progress |= top_up();
  return progress;
}

bool DeviceWorker::would_act_on_others() {
  const bool could_take_more = !collecting_ && !done_ && in_flight_.size() < kDepth;
  return in_flight_.empty() || could_take_more || member().device->pace().waits_for_share();
}

void DeviceWorker::tell_others() {
  for (std::size_t i = 0; i < run_.members.size(); ++i) {
    if (run_.listening[i]) run_.members[i].device->bell().ring();
  }
}

void DeviceWorker::rest() {
  if (!rings_) return std::this_thread::yield();
  OpenDevice& device = *member().device;
  Nanos nap = Bell::kLongest;
  if (const auto due = device.due()) nap = std::min(nap, *due - run_.backend.now());
  if (nap <= Nanos{}) return;
  // Whoever changes the version looks at this flag afterwards: one of the two sees the other.
  run_.listening[self_.value] = would_act_on_others();
  if (run_.version == seen_ && !(run_.over && in_flight_.empty())) device.bell().wait(heard_, nap);
  run_.listening[self_.value] = false;
}

std::optional<Nanos> DeviceWorker::gives_up_at() const {
  if (in_flight_.empty() || !run_.timeout) return std::nullopt;
  return std::max(in_flight_.front().enqueued, last_sign_) + *run_.timeout;
}

bool DeviceWorker::retire() {
  bool progress = false;
  while (!in_flight_.empty() && member().device->complete(in_flight_.front().batch)) {
    const InFlight done = in_flight_.front();
    in_flight_.pop_front();
    progress = true;
    last_sign_ = run_.backend.now();
    retired_.push_back({done.batch, done.rejected ? kPrepare : done.number});
    if (done.rejected) continue;
    if (done.number == kCollect) {
      member().program->collected();
      not_on_host_.clear();
      collecting_ = false;
    } else if (done.number != kPrepare) {
      retire_slice(done);
    }
  }
  return progress;
}

void DeviceWorker::retire_slice(const InFlight& done) {
  const DeviceSpan span = member().device->span(done.batch);
  const std::uint64_t from = std::max(span.started, previous_end_);
  const Nanos busy{span.ended > from ? static_cast<std::int64_t>(span.ended - from) : 0};
  previous_end_ = std::max(previous_end_, span.ended);
  const Nanos now = run_.backend.now();
  const std::lock_guard lock(run_.mutex);
  run_.source.finished(self_, done.slice, busy);
  run_.finished += done.slice.size();
  run_.sample.slices.push_back({self_, done.number, done.slice.begin, done.slice.end, done.enqueued, now});
  ++run_.version;
}

std::optional<Answer> DeviceWorker::ask() {
  if (run_.over || asked_at_ == run_.version) return std::nullopt;  // no lock: this is polled
  const std::lock_guard lock(run_.mutex);
  const Nanos begin = run_.backend.now();
  Answer answer = run_.source.next(self_);
  run_.sample.decision += run_.backend.now() - begin;
  if (!std::holds_alternative<Slice>(answer)) asked_at_ = run_.version;
  return answer;
}

bool DeviceWorker::top_up() {
  bool progress = false;
  while (in_flight_.size() < kDepth) {
    std::optional<Answer> answer;
    try {
      answer = ask();
    } catch (const Error& error) {  // nobody can take what is left
      abort(error);
      return true;
    }
    if (!answer) break;
    progress = true;
    if (const auto* slice = std::get_if<Slice>(&*answer)) {
      last_ = false;
      enqueue(*slice);
      if (run_.backend.is_virtual()) return true;  // threads would ask meanwhile
      continue;
    }
    done_ = std::holds_alternative<Done>(*answer);
    last_ = done_ || std::get<Wait>(*answer).likely_last;
    break;
  }
  // Collecting waits for nothing if no more work is likely: the queues are in order, and asking the device whether the last slice
  // is finished before enqueueing what comes after it would leave it idle for 50 us on an H200.
  if (!not_on_host_.empty() && (in_flight_.empty() || (last_ && !in_flight_.back().rejected))) {
    start_collect();
    return true;
  }
  if (!in_flight_.empty()) return progress;
  enter(HostState::sync);
  return (done_ && settle()) || progress;
}

void DeviceWorker::enqueue(const Slice& slice) {
  enter(HostState::in_flight);
  Stream& stream = member().device->stream();
  if (!prepared_) {
    prepared_ = true;
    const Nanos now = run_.backend.now();
    member().program->prepare(stream);
    in_flight_.push_back({member().device->submit(), kPrepare, {}, now});
    if (member().device->complete(in_flight_.back().batch)) retire();  // as a rule nothing was enqueued
  }
  InFlight entry{{}, next_number_, slice, run_.backend.now()};
  try {
    member().device->begin_slice();
    member().program->enqueue(slice, static_cast<unsigned>(next_number_) % kDepth, stream);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::out_of_memory) throw;
    entry.rejected = true;
  }
  entry.batch = member().device->submit();
  in_flight_.push_back(entry);
  if (entry.rejected) {
    const std::lock_guard lock(run_.mutex);
    run_.source.rejected(self_, slice, slice.size() / 2);
    ++run_.version;
    return;
  }
  not_on_host_.push_back(slice);
  ++next_number_;
}

void DeviceWorker::start_collect() {
  enter(HostState::in_flight);
  const Nanos now = run_.backend.now();
  collecting_ = true;
  member().program->collect(member().device->stream());
  in_flight_.push_back({member().device->submit(), kCollect, {}, now});
}

bool DeviceWorker::settle() {
  if (settled_at_ == run_.version) return false;  // no lock: this is polled while the last one merges
  {
    const std::lock_guard lock(run_.mutex);
    run_.settled[self_.value] = settled_at_ = run_.version;
    if (run_.over) return false;
    for (std::size_t i = 0; i < run_.members.size(); ++i) {
      if (run_.alive[i] && run_.settled[i] != run_.version) return false;
    }
  }
  // Nobody else acts any more: all others are settled at this version, and only an unsettled worker changes it.
  finish_sample(run_);
  return true;
}

void DeviceWorker::fail(const Error& error) {
  gone_ = true;
  const std::lock_guard lock(run_.mutex);
  run_.alive[self_.value] = false;
  Items items = 0;
  for (const Slice& slice : not_on_host_) items += slice.size();
  const bool hung = error.kind() == ErrorKind::timeout || !in_flight_.empty();
  run_.sample.faults.push_back({self_, error.what(), items, hung});
  member().device->abandon();
  in_flight_.clear();
  if (run_.over) return;
  try {
    run_.source.lost(self_, not_on_host_);
  } catch (const Error& hopeless) {
    run_.sample.failure = hopeless;
  }
  ++run_.version;
  if (std::none_of(run_.alive.begin(), run_.alive.end(), [](bool alive) { return alive; })) run_.sample.failure = error;
  if (run_.sample.failure) {
    run_.sample.end = run_.backend.now();
    run_.over = true;
  }
}

void DeviceWorker::abort(const Error& error) {
  const std::lock_guard lock(run_.mutex);
  if (run_.over) return;
  run_.sample.failure = error;
  run_.sample.end = run_.backend.now();
  run_.over = true;
}

void DeviceWorker::enter(HostState state) {
  if (state == state_) return;
  const Nanos now = run_.backend.now();
  if (now > state_since_) spans_.push_back({self_, state_, state_since_, now});
  state_ = state;
  state_since_ = now;
}

void DeviceWorker::leave() {
  std::vector<RawBatch> batches;
  if (!gone_) {
    for (const auto& [batch, number] : retired_) batches.push_back(RawBatch{self_, number, member().device->take(batch)});
    std::erase_if(batches, [](const RawBatch& batch) { return batch.commands.empty(); });
  }
  member().device->pace().end_sample();
  const std::lock_guard lock(run_.mutex);
  for (RawBatch& batch : batches) run_.sample.batches.push_back(std::move(batch));
  if (run_.sample.end > state_since_) spans_.push_back({self_, state_, state_since_, run_.sample.end});
  auto& all = run_.sample.spans;
  all.insert(all.end(), spans_.begin(), spans_.end());
  left_ = true;
}

}  // namespace mgpu
