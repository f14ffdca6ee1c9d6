// What the workers of one sample share: who takes part, what has finished, who was lost.
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

// One device that takes part. Not owned.
struct Member {
  OpenDevice* device = nullptr;
  DeviceProgram* program = nullptr;
};

// Describes a sample: its work, its devices, its time-out.
struct SampleRequest {
  Workload* workload = nullptr;
  SliceSource* source = nullptr;
  std::vector<Member> members = {};  // by DeviceIndex; at most the executor's number of workers
  DeviceIndex merge_device = {};     // the fastest of them
  // A device with work in flight that completes nothing for this long counts as hung.
  Nanos timeout = std::chrono::seconds(60);
  bool merges = true;          // false: a probe, whose source gives out a part of the items only
  PeerGroup* peers = nullptr;  // that the members exchange data in; none: they do not
  std::vector<DeviceIndex> places = {};  // of the members in it
  // Tells by member, as far as they have places, who exchanges data in this sample, before its
  // first slice or to combine partials: at least two of them.
  std::vector<bool> exchanging = {};
  std::uint32_t most_rounds = ~std::uint32_t{0};  // of iterative work: a probe does no more of them
  bool again = false;  // the sample before lost a device: MovableWorkload::restart
  // Asked now and then on the caller's thread: true interrupts the sample.
  std::function<bool()> stop = {};
  // Asked when no member is left, on that thread too: who goes on instead, if anybody.
  std::function<std::optional<Member>()> reserve = {};
  Nanos merge_per_part{};  // time that the host takes to merge; 0: not known
};

// Holds what the workers of a sample share: its stage, and what becomes of it when devices fail.
// Whatever stands after `mutex` is guarded by it while workers run, unless it is atomic.
class SampleRun {
 public:
  // Only what is below changes it, under the lock. A loss leads from combining and merging back to
  // working.
  enum class Stage {
    working,    // slices are given out and computed
    combining,  // each worker brings what its device holds
    merging,    // the worker of `merge_device` merges
    over        // merged, or failed
  };
  // Says who acts once a worker has nothing left to do.
  enum class Ending { others_are_at_work, devices_merge, host_merges };

  SampleRun(Backend& backend, SampleRequest request);

  Backend& backend;
  const SampleRequest request;
  Workload& workload;
  SliceSource& source;
  std::vector<Member> members;    // grows only while no worker runs
  std::uint32_t first_round = 0;  // of iterative work: others are done already
  bool combines = false;          // partials stay on the devices until all are there
  // The fastest: merges, if it still lives and the workload wants a device to.
  std::atomic<DeviceIndex> merge_device;
  // Nobody was lost, nobody else made any: devices combine partials among themselves.
  std::atomic<bool> together = true;
  std::atomic<Nanos> last_loss{};  // when a device was lost, the last time
  // An interrupted sample waits until then for what is in flight.
  std::atomic<Nanos> stop_by{kNoLimit};

  PollingMutex mutex;
  // Counts events after which a waiting worker should ask again; changed under the lock.
  std::atomic<std::uint64_t> version = 1;
  // Per member: its worker sleeps, to be notified when `version` or the stage changes.
  std::vector<std::atomic<bool>> listening;
  std::atomic<Items> finished = 0;  // by all, and not lost since
  struct Seat {                     // of a member
    bool alive = true;
    bool brought = false;  // combining: its part is on the host
    // Its inputs are there, or it exchanges none: that is over before its first slice.
    bool prepared = false;
    std::uint64_t done_at = 0;       // the version at which it had nothing left to do; 0: it has
    std::vector<Slice> not_on_host;  // given to it, and lost with it (Brings)
    std::vector<std::uint32_t> records;  // of those, which have finished: indices of sample.slices
  };
  std::vector<Seat> seats;
  bool none_left = false;  // every device was lost
  // Holds what the members say that have come to the meeting under way, at which borders may move
  // (SliceSource::borders). Whoever comes last decides.
  struct Meeting {
    std::vector<Nanos> busy;     // with a round since the meeting before
    std::size_t missing = 0;     // members with a share who have not come
    std::vector<Slice> ranges;   // of all, since the last one that moved borders
    std::uint32_t moved_at = 0;  // and which that was: rounds done
  } meeting;
  // Rounds done at the next meeting, 0: there is none; and at the last.
  std::atomic<std::uint32_t> meets_at = 0, met_at = 0;
  RawSample sample;

  Stage stage() const { return stage_; }
  bool over() const { return stage_ == Stage::over; }
  bool exchanges(DeviceIndex member) const {
    return member.value < request.exchanging.size() && request.exchanging[member.value];
  }
  std::vector<Owner> owners_of(
      const std::vector<Items>& shares) const;  // by their places in the group
  // Does a member wait, in an exchange, for a device that waits for nobody? Then it is not the one
  // that hangs.
  bool waits_for_another(DeviceIndex member);
  void expect_meeting();  // the next one, if there is one; with the lock, or before workers run

  // The rest with the lock, but for those that say otherwise.

  // Notes that a member has come to the meeting, with its median time per round.
  void come_to_meeting(DeviceIndex member, Nanos busy);
  // Notes that a member has nothing left to do at this version. Where no other has, its partials
  // are merged next.
  Ending finish(DeviceIndex member);
  // Notes that a member's part is on the host. Returns true for the last one: the host merges.
  bool bring(DeviceIndex member);
  void end();                     // the sample, as it is
  void fail(const Error& error);  // the sample as a whole
  // Marks a device failed and gives its work to the others. Returns true if it was merging what is
  // on the host: the caller merges there.
  bool lose(DeviceFault fault, bool caller_may_merge);
  // Ends the sample, as the caller wants no result. Without the lock.
  void interrupt();
  // Lets the member take over what is to be done, as nobody is left. Without the lock; no worker
  // runs.
  DeviceIndex take_over(const Member& member);
  void notify_all();  // that `version` or the stage has changed; without the lock

 private:
  // Returns who merges: merge_device, or whoever is left where the host cannot; none: the host.
  std::optional<DeviceIndex> merger() const;
  bool host_can_merge() const;

  std::atomic<Stage> stage_ = Stage::working;
};

}  // namespace mgpu
