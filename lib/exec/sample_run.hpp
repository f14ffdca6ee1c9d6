// State that the workers of one sample share: participants, finished work, failed devices.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <vector>

#include "lib/exec/polling_mutex.hpp"
#include "lib/exec/sample.hpp"
#include "lib/plan/slice_source.hpp"
#include "lib/workload/workload.hpp"

namespace mgpu {

// A participant: one device of the sample. Not owned.
struct Participant {
  OpenDevice* device = nullptr;
  DeviceProgram* program = nullptr;
};

// A sample under way: what each participant has done so far.
struct LiveSample {
  Nanos elapsed{};             // since the sample's begin
  bool ended = false;          // nothing follows
  struct Device {              // by participant
    std::uint32_t rounds = 0;  // complete iterations
    Items items = 0;           // iterative work: its share; else finished items
    // Time of its kernels, without exchanges, as far as it was read: up to the previous report.
    Nanos busy{};
  };
  std::vector<Device> devices;
};

// Describes a sample: its work, its devices, its timeout.
struct SampleRequest {
  Workload* workload = nullptr;
  SliceSource* source = nullptr;
  std::vector<Participant> participants =
      {};                         // by DeviceIndex; at most as many as the executor has workers
  DeviceIndex merge_device = {};  // the fastest participant
  // A device with work in flight that completes nothing for this long counts as hung.
  Nanos timeout = std::chrono::seconds(60);
  bool merges = true;          // false: a probe, whose source gives out only part of the items
  PeerGroup* peers = nullptr;  // group in which the participants exchange data; null: they do not
  std::vector<DeviceIndex> places = {};  // positions of the participants in the group
  // Per participant, as far as they have places: whether it exchanges data in this sample, before
  // its first slice or to combine partials. At least two do, or none.
  std::vector<bool> exchanging = {};
  // Limit of iterations, for a probe of iterative work.
  std::uint32_t most_rounds = ~std::uint32_t{0};
  // A device failed in the previous attempt: restarts (MovableWorkload::restart).
  bool again = false;
  // Called repeatedly on the caller's thread; true interrupts the sample.
  std::function<bool()> stop = {};
  // Called on that thread when no participant is left; returns the device that takes over, if any.
  std::function<std::optional<Participant>()> reserve = {};
  // Called on the caller's thread about every `live_every` of the sample, and when it has ended.
  std::function<void(const LiveSample&)> live = {};
  Nanos live_every{};
  Nanos merge_per_part{};  // time that the host takes to merge; 0: not known
};

// State that the workers of a sample share: its stage, and the handling of failed devices. Members
// after `mutex` are guarded by it while workers run, unless they are atomic.
class SampleRun {
 public:
  // Changed only by the functions below, under the lock. A device failure leads from combining and
  // merging back to working.
  enum class Stage {
    working,    // slices are given out and computed
    combining,  // each worker copies its device's part to the host
    merging,    // the worker of `merge_device` merges
    over        // merged, or failed
  };
  // Tells who acts once a worker has nothing left to do.
  enum class Ending { others_are_at_work, devices_merge, host_merges };

  SampleRun(Backend& backend, SampleRequest request);

  Backend& backend;
  const SampleRequest request;
  Workload& workload;
  SliceSource& source;
  std::vector<Participant> participants;  // grows only while no worker runs
  std::uint32_t first_round = 0;          // first iteration to do: those before it are done already
  bool combines = false;                  // partials stay on the devices until all are complete
  // The fastest device: merges, if it has not failed and the workload merges on a device.
  std::atomic<DeviceIndex> merge_device;
  // True while no device failed and every partial is on a device: devices combine partials among
  // themselves.
  std::atomic<bool> together = true;
  std::atomic<Nanos> last_loss{};  // time of the latest device failure
  // Limit up to which an interrupted sample waits for commands in flight.
  std::atomic<Nanos> stop_by{kNoLimit};

  PollingMutex mutex;
  // Counts events after which a waiting worker should ask again; changed under the lock.
  std::atomic<std::uint64_t> version = 1;
  // Per participant: whether its worker sleeps until `version` or the stage changes.
  std::vector<std::atomic<bool>> listening;
  std::atomic<Items> finished = 0;  // by all participants, without lost items
  struct ParticipantState {         // per participant
    bool alive = true;
    bool brought = false;  // its part of the combined partials is on the host
    // Its inputs have arrived, or it exchanges none; this ends before its first slice.
    bool prepared = false;
    std::uint64_t done_at = 0;  // version at which it had nothing left to do; 0: it still has
    // Slices given to it whose results would be lost with it (ResultPolicy).
    std::vector<Slice> not_on_host;
    std::vector<std::uint32_t> records;  // finished ones of these: indices of sample.slices
  };
  std::vector<ParticipantState> participant_states;
  bool none_left = false;  // every device failed
  // Reports asked for so far (SampleRequest::live): workers read their time stamps for each.
  std::atomic<std::uint32_t> reports = 0;
  // State of the next rebalancing point, at which iterative work may be rebalanced
  // (SliceSource::borders). The last participant to arrive decides.
  struct RebalancePoint {
    std::vector<std::vector<Nanos>> busy;  // by participant: times of the last iterations
    std::size_t missing = 0;               // participants with a share that have not arrived
    std::vector<Slice> ranges;             // ranges of all participants since the last rebalance
    std::uint32_t moved_at = 0;            // iterations done at the last rebalance
    Nanos decided{};                       // host time of that
  } rebalance_point;
  // Iterations done at the next rebalancing point (0: there is none), and at the last one.
  std::atomic<std::uint32_t> rebalance_at = 0, rebalanced_at = 0;
  std::vector<Items> moved_from;  // per participant: SliceSource::moved_from when last noted
  RawSample sample;

  Stage stage() const { return stage_; }
  bool over() const { return stage_ == Stage::over; }
  bool exchanges(DeviceIndex participant) const {
    return participant.value < request.exchanging.size() && request.exchanging[participant.value];
  }
  // Returns the owners of the shares, by their positions in the group.
  std::vector<Owner> owners_of(const std::vector<Items>& shares) const;
  // Tells whether a participant waits, in an exchange, for a device that waits for no other: then
  // that device is the one that hangs.
  bool waits_for_another(DeviceIndex participant);
  // Prepares the next rebalancing point, if there is one. Called with the lock, or before workers
  // run.
  void plan_rebalance();

  // Functions below are called with the lock, unless they say otherwise.

  // Notes the work that the source has moved between devices since the last call.
  void note_handovers();
  // Notes that a participant has reached the rebalancing point, with times of its last iterations.
  void arrive_at_rebalance(DeviceIndex participant, std::vector<Nanos> busy);
  // Notes that a participant has nothing left to do at this version. If none has, partials are
  // merged next.
  Ending finish(DeviceIndex participant);
  // Notes that a participant's part is on the host. Returns true for the last one: the caller then
  // merges on the host.
  bool bring(DeviceIndex participant);
  void end();                     // ends the sample as it is
  void fail(const Error& error);  // ends the sample without a result
  // Marks a device failed and gives its work to the others. Returns true if it failed while merging
  // partials that are on the host: the caller then merges there.
  bool mark_failed(DeviceFault fault, bool caller_may_merge);
  // Ends the sample, as the caller wants no result. Called without the lock.
  void interrupt();
  // Lets a reserve device take over all work left, as every device failed. Called without the lock,
  // while no worker runs.
  DeviceIndex take_over(const Participant& participant);
  // Notifies workers that `version` or the stage has changed; called without the lock.
  void notify_all();

 private:
  // Returns the device that merges: merge_device, or any other if the host cannot merge; none: the
  // host merges.
  std::optional<DeviceIndex> merger() const;
  bool host_can_merge() const;
  void note_repartition(const std::vector<Items>& shares, Nanos at);

  std::atomic<Stage> stage_ = Stage::working;
  Items moved_ = 0;  // SliceSource::moved() when last noted
};

}  // namespace mgpu
