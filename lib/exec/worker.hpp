// One device's part in one sample, as a state machine: asks the source, keeps two slices in flight, collects. It never blocks, so
// that threads can drive it in real time, one each, and one thread can drive all of them on a virtual clock.
#pragma once

#include <atomic>
#include <deque>
#include <mutex>
#include <optional>
#include <vector>

#include "lib/exec/polling_mutex.hpp"
#include "lib/exec/sample.hpp"
#include "lib/plan/slice_source.hpp"
#include "lib/workload/workload.hpp"

namespace mgpu {

// One device that takes part. Not owned.
struct Member {
  OpenDevice* device = nullptr;
  DeviceProgram* program = nullptr;
};

// What the workers of a sample share. `source`, `settled`, `alive` and `sample` are guarded by `mutex` while workers run.
struct SampleRun {
  Backend& backend;
  SliceSource& source;
  Workload& workload;
  std::vector<Member> members;
  DeviceIndex merge_device;      // the fastest: merges, if it still lives and the workload wants a device to
  std::optional<Nanos> timeout;  // a device with work in flight that completes nothing for this long counts as hung
  bool merges = true;            // false: the partials are of a part of the items only, there is no result

  PollingMutex mutex;
  std::atomic<std::uint64_t> version = 1;    // counts events after which a waiting worker should ask again; changed under the lock
  std::vector<std::uint64_t> settled;        // per member: the version at which it had nothing left to do; 0: it has
  std::vector<bool> alive;                   // per member
  std::vector<std::atomic<bool>> listening;  // per member: its worker sleeps and wants to be woken when `version` or `over` changes
  std::atomic<Items> finished = 0;           // by all; items that were lost and done again count twice
  std::atomic<bool> over = false;            // merged, or failed; set last
  RawSample sample;
};

class DeviceWorker {
 public:
  DeviceWorker(SampleRun& run, DeviceIndex self);

  void start();  // the sample has begun
  // Does what can be done now. False: nothing until a device completes something or another worker acts.
  bool step();
  // For the thread that drives it, after a step() that did nothing: sleeps until the device rings, another worker has done
  // something that matters, or a handicap's hold is over. If it does not ring (GPUs), only lets others run: 4-10 us a launch are
  // worth a core.
  void rest();
  // When it will count its device as hung if nothing completes; none: nothing is in flight, or there is no timeout.
  std::optional<Nanos> gives_up_at() const;
  // The sample is over for this worker and none of its commands is under way.
  bool left() const { return left_; }

 private:
  struct InFlight {
    BatchId batch;
    std::int32_t number = 0;  // or kPrepare, kCollect
    Slice slice;
    Nanos enqueued{};
    bool rejected = false;  // enqueued in part only; nothing counts but that it ends
  };

  bool advance();
  bool retire();
  void retire_slice(const InFlight& done);
  bool top_up();
  std::optional<Answer> ask();  // none: nothing happened since the last answer, or the sample is over
  void enqueue(const Slice& slice);
  void start_collect();
  bool settle();  // true when this was the last worker and the sample has been finished
  void fail(const Error& error);
  void abort(const Error& error);  // the sample as a whole
  bool would_act_on_others();
  void tell_others();  // that `version` or `over` has changed; not under the lock
  void enter(HostState state);
  void leave();
  Member& member() { return run_.members[self_.value]; }

  SampleRun& run_;
  DeviceIndex self_;
  const bool rings_;  // the device
  std::deque<InFlight> in_flight_;
  // Completed batches, whose commands are read after the sample: 1.5 us a time stamp on an H200.
  std::vector<std::pair<BatchId, std::int32_t>> retired_;
  std::vector<Slice> not_on_host_;  // enqueued or finished, and not collected
  bool collecting_ = false, prepared_ = false, gone_ = false, left_ = false, done_ = false, last_ = false;
  std::uint64_t heard_ = 0;       // rings of the bell before the last step
  std::uint64_t seen_ = 0;        // version before the last step
  std::uint64_t asked_at_ = 0;    // version of the last Wait or Done
  std::uint64_t settled_at_ = 0;  // version at which it last had nothing left to do
  std::int32_t next_number_ = 0;
  std::uint64_t previous_end_ = 0;  // device stamp: end of the last finished slice
  Nanos last_sign_{};               // host time of the last completion
  HostState state_ = HostState::idle;
  Nanos state_since_{};
  std::vector<HostSpan> spans_;
};

}  // namespace mgpu
