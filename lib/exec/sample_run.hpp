// What the workers of one sample share: who takes part, what has finished, who was lost.
#pragma once

#include <atomic>
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

// What the workers of a sample share. What stands after `mutex` is guarded by it while workers run,
// unless it is atomic.
struct SampleRun {
  SampleRun(Backend& backend_, SliceSource& source_, Workload& workload_,
            std::vector<Member> members_, std::size_t most_members);

  Backend& backend;
  SliceSource& source;
  Workload& workload;
  std::vector<Member> members;  // grows only while no worker runs
  std::atomic<DeviceIndex>
      merge_device;  // the fastest: merges, if it still lives and the workload wants a device to
  Nanos timeout{};   // a device with work in flight that completes nothing for this long counts as
                     // hung
  bool merges = true;  // false: the partials are of a part of the items only, there is no result

  PeerGroup* peers = nullptr;  // that members are in, at these places, and in which some exchange
                               // data; none: they do not
  std::vector<DeviceIndex> places;
  std::vector<bool> exchanging;  // by member, as far as they have places: before its first slice,
                                 // or to combine partials
  bool exchanges(DeviceIndex member) const {
    return member.value < exchanging.size() && exchanging[member.value];
  }
  std::uint32_t most_rounds = ~std::uint32_t{0};
  std::uint32_t first_round = 0;  // of work that goes in rounds: others are done already
  bool combines = false;          // partials stay on the devices until all are there
  std::atomic<bool> together =
      true;  // nobody was lost, nobody else made any: devices combine them among themselves
  std::atomic<Nanos> last_loss{};  // when a device was lost, the last time
  // An interrupted sample waits until then for what is in flight.
  std::atomic<Nanos> stop_by{kNoLimit};

  PollingMutex mutex;
  std::atomic<std::uint64_t> version =
      1;  // counts events after which a waiting worker should ask again; changed under the lock
  std::vector<std::atomic<bool>>
      listening;  // per member: its worker sleeps, to be notified when `version` or `stage` changes
  std::atomic<Items> finished = 0;  // by all, and not lost since
  // combining: each worker brings what its device holds; merging: the worker of `merge_device`
  // merges; over: merged, or failed
  enum class Stage { working, combining, merging, over };
  std::atomic<Stage> stage = Stage::working;
  struct Seat {  // of a member
    bool alive = true;
    bool brought = false;  // combining: its part is on the host
    bool prepared =
        false;  // its inputs are there, or it exchanges none: that is over before its first slice
    std::uint64_t done_at = 0;       // the version at which it had nothing left to do; 0: it has
    std::vector<Slice> not_on_host;  // given to it, and lost with it (Brings)
    std::vector<std::uint32_t> records;  // of those, which have finished: indices of sample.slices
  };
  std::vector<Seat> seats;
  bool none_left = false;  // every device was lost
  // Of work that goes in rounds, whose borders may move (SliceSource::borders): what those who have
  // come to the meeting under way say. Whoever comes last decides.
  struct Meeting {
    std::vector<Nanos> busy;     // with a round since the meeting before
    std::size_t missing = 0;     // members with a share who have not come
    std::vector<Slice> ranges;   // of all, since the last one that moved borders
    std::uint32_t moved_at = 0;  // and which that was: rounds done
  } meeting;
  std::atomic<std::uint32_t>
      meets_at = 0,
      met_at = 0;  // rounds done: at the next meeting, 0: there is none; at the last
  RawSample sample;

  std::vector<Owner> owners_of(
      const std::vector<Items>& shares) const;  // by their places in the group
  bool over() const { return stage == Stage::over; }
  // Does a member wait, in an exchange, for a device that waits for nobody? Then it is not the one
  // that hangs.
  bool waits_for_another(DeviceIndex member);
  void expect_meeting();  // the next one, if there is one; with the lock, or before workers run
  // A member has come to the meeting, as which it has done rounds that took it so long each; with
  // the lock.
  void come_to_meeting(DeviceIndex member, Nanos busy);
  // Who merges: merge_device, or whoever is left where the host cannot; none: the host. With the
  // lock.
  std::optional<DeviceIndex> merger() const;
  void end();                     // the sample, as it is; with the lock
  void fail(const Error& error);  // the sample as a whole; with the lock
  void lose(DeviceFault fault);   // its device's work goes to the others; with the lock
  void notify_all();              // that `version` or `stage` has changed; without the lock
};

}  // namespace mgpu
