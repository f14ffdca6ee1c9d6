// One device's part in one sample, as a state machine: asks the source, keeps two slices in flight,
// collects, and merges if it is the one that does. It never blocks, so that threads can drive it in
// real time, one each, and one thread can drive all of them on a virtual clock.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "lib/exec/sample_run.hpp"
#include "lib/plan/device_policy.hpp"

namespace mgpu {

class DeviceWorker {
 public:
  DeviceWorker(SampleRun& run, DeviceIndex self);

  void start();  // the sample has begun
  // Does what can be done now. False: nothing until a device completes something or another worker
  // acts.
  bool step();
  // For the thread that drives it, after a step() that did nothing: sleeps until the device
  // notifies, another worker has done something that matters, or a handicap's hold is over. Of a
  // device that does not notify (GPUs), only lets others run: 4-10 us a launch are worth a core.
  void rest();
  // When it will count its device as hung if nothing completes; none: nothing is in flight.
  std::optional<Nanos> gives_up_at() const;
  // The sample is over for this worker and none of its commands is under way.
  bool left() const { return stage_ == Stage::left; }

  // Loses the device, whose driver does not return from a call of the worker's thread, which has
  // been given up (DriverWatch).
  void abandon(const std::string& why);

 private:
  struct InFlight {
    BatchId batch{};
    std::int32_t number = 0;  // or kPrepare, kCollect, kMerge
    Slice slice{};
    Nanos enqueued{};
    bool rejected = false;                 // enqueued in part only; nothing counts but that it ends
    bool goes_on = false;                  // rounds of the slice follow
    std::uint32_t rounds = 0;              // of the slice, that are done when it is complete
    bool is_checkpoint = false;            // of that state
    std::optional<std::uint32_t> round{};  // that its commands are of
    Completion completion{};
  };
  enum class Stage { working, lost, left };

  template <class Function>
  void ask_source(Function&& function);  // calls what may throw for the sample as a whole
  bool advance();
  double share_done() const;
  Nanos waits_since() const;
  Nanos patience() const;
  bool may_compile() const;  // the first of what is in flight
  std::string why_overdue() const;
  bool retire();
  Nanos busy_with(BatchId batch);
  void retire_slice(const InFlight& done);
  bool act();
  bool ask();  // false: the sample is over
  void enqueue(const Slice& slice);
  bool has_rounds_left() const { return next_round_ < rounds_; }
  bool enqueue_rounds();
  std::uint32_t rounds_at_once() const;
  bool is_held_by_meeting();
  void move(const Slice& to);
  void measure_round(std::span<const RawCommand> commands);
  bool is_checkpoint_due() const;
  void enqueue_checkpoint();
  std::optional<std::uint32_t> round_under_way() const;
  void prepare(Stream& stream);
  void start_collect();
  bool try_finish();  // true when this was the last worker
  void start_merge();
  void start_bringing();
  void brought(const Completion& completion);
  void merged(const Completion& completion);
  void merge_on_host();
  void fail(ErrorKind kind, const std::string& what);
  bool would_act_on_others();
  void enter(HostState state);
  void check_exchange();
  void read_retired();
  void leave();
  Member& member() { return run_.members[self_.value]; }
  SampleRun::Seat& seat() { return run_.seats[self_.value]; }

  SampleRun& run_;
  DeviceIndex self_;
  const bool notifies_;                // the device
  const Brings brings_;                // its program
  IterativeProgram* const iterative_;  // it; null: it is not
  DevicePolicy policy_;
  Stage stage_ = Stage::working;
  bool prepared_ = false;
  // Of the slice that was enqueued last: how many follow, which is enqueued next.
  std::uint32_t rounds_ = 0, next_round_ = 0;
  InFlight last_round_;
  std::uint32_t checkpoint_ = 0;                // the last that was enqueued: rounds
  std::atomic<std::uint32_t> rounds_done_ = 0;  // complete
  std::uint32_t came_to_ =
      0;  // the last meeting (SampleRun::meets_at); and whether it still waits for others
  bool waits_ = false;
  std::vector<Nanos> busy_;       // with each of the rounds since
  bool bringing_ = false;         // what is left on the device
  std::uint64_t brought_at_ = 0;  // the version at which it had; later ones: after others were lost
  std::deque<InFlight> in_flight_;
  // Completed batches, whose commands are read after the sample, or before a checkpoint counts: 1.5
  // us a time stamp on an H200.
  struct Retired {
    BatchId batch;
    std::int32_t number = 0;
    std::optional<std::uint32_t> round{};
  };
  std::vector<Retired> retired_;
  std::vector<RawBatch> read_;
  std::uint64_t epoch_ = 0;  // notifications before the last step
  std::uint64_t seen_ = 0;   // version before the last step
  SampleRun::Stage seen_stage_ = SampleRun::Stage::working;
  std::uint64_t done_at_ = 0;  // version at which it last had nothing left to do
  std::int32_t next_number_ = 0;
  std::uint64_t previous_end_ = 0;  // device stamp: end of the last finished slice
  Nanos last_sign_{};               // host time of the last completion
  HostState state_ = HostState::idle;
  Nanos state_since_{};
  std::vector<HostSpan> spans_;
};

}  // namespace mgpu
