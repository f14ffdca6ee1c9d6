// The end of a sample: partials are combined among the devices, on one of them or on the host, by
// whoever is last.
#include <algorithm>
#include <utility>

#include "lib/exec/worker.hpp"

namespace mgpu {

// The last worker with nothing left to do merges: all partials are on the host, and no other worker
// acts any more.
bool DeviceWorker::try_finish() {
  if (done_at_ == run_.version) return false;  // no lock: this is polled while the last one merges
  {
    const std::lock_guard lock(run_.mutex);
    seat().done_at = done_at_ = run_.version;
    if (run_.over()) return false;
    for (const SampleRun::Seat& each : run_.seats) {
      if (each.alive && each.done_at != run_.version) return false;
    }
    // Nobody else acts any more: all others are done_at at this version, and only a worker with
    // something left to do changes it.
    run_.sample.merge_begin = run_.backend.now();
    if (run_.combines) {
      run_.stage = SampleRun::Stage::combining;
      return true;
    }
    if (const std::optional<DeviceIndex> on = run_.merger()) {
      run_.merge_device = *on;                 // before the stage, by which its worker sees it
      run_.stage = SampleRun::Stage::merging;  // by that device's own worker: streams and kernels
                                               // belong to one thread
      return true;
    }
  }
  merge_on_host();
  return true;
}

void DeviceWorker::start_merge() {
  const Nanos now = run_.backend.now();
  Completion completion = member().program->interfaces().merging->merge(member().device->stream());
  const BatchId batch = member().device->submit();
  policy_.enqueued_other();
  in_flight_.push_back(
      {.batch = batch, .number = kMerge, .enqueued = now, .completion = std::move(completion)});
}

void DeviceWorker::start_bringing() {
  enter(HostState::in_flight);
  const Nanos now = run_.backend.now();
  Completion completion =
      member().program->interfaces().combining->bring(run_.together, member().device->stream());
  const BatchId batch = member().device->submit();
  bringing_ = true;
  policy_.enqueued_other();
  in_flight_.push_back(
      {.batch = batch, .number = kMerge, .enqueued = now, .completion = std::move(completion)});
}

// The last worker to bring its part merges.
void DeviceWorker::brought(const Completion& completion) {
  policy_.ended();
  bringing_ = false;
  if (completion) completion();
  {
    const std::lock_guard lock(run_.mutex);
    if (run_.stage != SampleRun::Stage::combining)
      return;  // a device was lost: there may be more to bring
    seat().brought = true;
    brought_at_ = run_.version;
    for (const SampleRun::Seat& each : run_.seats) {
      if (each.alive && !each.brought) return;
    }
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
    if (run_.merges) run_.workload.merge();
  } catch (const Error& error) {
    failure = error;
  } catch (const std::exception& error) {
    failure = Error(ErrorKind::internal, error.what());
  }
  const std::lock_guard lock(run_.mutex);
  if (run_.over()) return;  // interrupted
  sample.failure = std::move(failure);
  run_.end();
  sample.merge_end = sample.end;
}

// Did all that the device waited for come? A kernel that waits for a flag ends without it before
// the device counts as hung.
void DeviceWorker::check_exchange() {
  if (run_.peers == nullptr || self_.value >= run_.places.size()) return;
  try {
    run_.peers->check(run_.places[self_.value]);
  } catch (const Error& error) {
    const std::lock_guard lock(run_.mutex);
    if (!run_.sample.failure) run_.sample.failure = error;
  }
}

}  // namespace mgpu
