// One device's part in one sample, as a state machine: asks the source, keeps two slices in flight,
// collects, and merges if it is the merging device. It never blocks, so that in real time each is
// driven by a thread, and on a virtual clock one thread drives all.
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

  void start();  // called when the sample begins
  // Does what can be done now. Returns false if nothing can be done until a device completes a
  // command or another worker acts.
  bool step();
  // Waits in the driving thread after a step() that did nothing: sleeps until the device notifies,
  // another worker has changed something that matters, or a throttling stall ends. For a device
  // that does not notify (GPUs) it only yields: 4-10 us per launch are worth a core.
  void rest();
  // Returns when the device will count as hung if nothing completes; none: nothing is in flight.
  std::optional<Nanos> gives_up_at() const;
  // Tells whether the sample is over for this worker and none of its commands is under way.
  bool left() const { return stage_ == Stage::left; }

  // Returns the cores that the driving thread shall run on; empty: any.
  const std::vector<std::uint32_t>& near_cpus() const {
    return run_.participants[self_.value].device->resources().traits().near_cpus;
  }

  // Adds what the device has done so far. Called from any thread, without the lock of the run.
  void add_to(LiveSample& live) const;

  // Marks the device failed, as its driver does not return from a call of the worker's thread,
  // which DriverWatch has abandoned.
  void abandon(const std::string& why);

 private:
  struct InFlight {
    BatchId batch{};
    std::int32_t number = 0;  // or kPrepare, kCollect, kMerge
    Slice slice{};
    Nanos enqueued{};
    bool rejected = false;     // only part of it was enqueued; its result is ignored
    bool goes_on = false;      // iterations of the slice follow
    std::uint32_t rounds = 0;  // iterations of the slice done when it is complete
    bool moves = false;        // it moves state to new owners
    // It saves the state after these iterations, or downloads figures of them.
    bool is_checkpoint = false;
    std::optional<std::uint32_t> round{};  // iteration of its commands
    Completion completion{};
  };
  enum class Stage { working, lost, left };

  template <class Function>
  void ask_source(Function&& function);  // reports exceptions as failures of the sample
  bool advance();
  double share_done() const;
  Nanos waits_since() const;
  Nanos time_limit_of() const;
  bool may_compile() const;  // applies to the first batch in flight
  std::string why_overdue() const;
  bool retire();
  Nanos busy_with(BatchId batch);
  void retire_slice(const InFlight& done);
  bool act();
  bool ask();  // returns false if there was no slice, or the sample is over
  void enqueue(const Slice& slice);
  bool has_rounds_left() const { return next_round_ < rounds_; }
  bool enqueue_rounds();
  std::uint32_t rounds_at_once() const;
  bool is_measured(std::uint32_t round) const;
  bool waits_for_rebalance();
  void move(const Slice& to);
  void measure_round(std::span<const RawCommand> commands);
  void note_moved_bytes(std::span<const RawCommand> commands);
  static Nanos busy_of(std::span<const RawCommand> commands);
  bool is_checkpoint_due() const;
  void enqueue_checkpoint();
  void report();
  void report_figures();
  std::optional<std::uint32_t> round_under_way() const;
  void prepare(Stream& stream);
  void start_collect();
  bool try_finish();  // returns true if this was the last worker
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
  Participant& participant() { return run_.participants[self_.value]; }
  SampleRun::ParticipantState& participant_state() { return run_.participant_states[self_.value]; }

  SampleRun& run_;
  DeviceIndex self_;
  const bool notifies_;                // whether the device notifies
  const ResultPolicy result_policy_;   // when its program's results reach the host
  IterativeProgram* const iterative_;  // the program's interface for iterative work; null: none
  DevicePolicy policy_;
  Stage stage_ = Stage::working;
  bool prepared_ = false;
  // Iterations of the slice enqueued last: their number, and the next one to enqueue.
  std::uint32_t rounds_ = 0, next_round_ = 0;
  InFlight last_round_;
  std::uint32_t checkpoint_ = 0;                // iterations before the last checkpoint enqueued
  std::atomic<std::uint32_t> rounds_done_ = 0;  // complete iterations
  // The last rebalancing point reached (SampleRun::rebalance_at), and whether the worker still
  // waits for others there.
  std::uint32_t came_to_ = 0;
  bool waits_ = false;
  std::vector<Nanos> busy_;  // time of each iteration since then
  bool bringing_ = false;    // whether its part is being copied to the host
  // Version at which that ended; a later one means that a device failed since.
  std::uint64_t brought_at_ = 0;
  // Reports made (SampleRun::reports), and what other threads read for them.
  std::uint32_t reported_ = 0;
  std::atomic<Items> live_items_ = 0;
  std::atomic<std::int64_t> live_busy_ns_ = 0;
  std::deque<InFlight> in_flight_;
  // Completed batches, whose commands are read after the sample or before a checkpoint counts: a
  // time stamp takes 1.5 us on an H200.
  struct Retired {
    BatchId batch;
    std::int32_t number = 0;
    std::optional<std::uint32_t> round{};
    bool moves = false;
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
