// A sample's end, its losses, and who is notified of them.
#include "lib/exec/sample_run.hpp"

#include <algorithm>
#include <utility>

#include "lib/plan/rounds.hpp"

namespace mgpu {

SampleRun::SampleRun(Backend& backend_, SliceSource& source_, Workload& workload_,
                     std::vector<Member> members_, std::size_t most_members)
    : backend(backend_),
      source(source_),
      workload(workload_),
      members(std::move(members_)),
      listening(most_members),
      seats(members.size()) {}

void SampleRun::expect_meeting() {
  Borders* const borders = source.borders();
  const auto next = borders != nullptr ? borders->next_meeting(first_round) : std::nullopt;
  meets_at = next.value_or(0);
  if (borders == nullptr) return;
  meeting.ranges = ranges_of(borders->shares());
  meeting.busy.assign(members.size(), Nanos{});
  meeting.missing =
      static_cast<std::size_t>(std::count_if(meeting.ranges.begin(), meeting.ranges.end(),
                                             [](const Slice& range) { return range.size() > 0; }));
}

void SampleRun::come_to_meeting(DeviceIndex member, Nanos busy) {
  meeting.busy[member.value] = busy;
  if (--meeting.missing > 0) return;
  Borders& borders = *source.borders();
  const std::uint32_t rounds = meets_at;
  if (const auto shares = borders.meet(meeting.busy)) {
    MovableWorkload* const movable = workload.movable();
    if (movable != nullptr && movable->repartition(owners_of(*shares))) {
      meeting.moved_at = rounds;
      if (sample.moves.empty()) sample.first_shares = source.first_shares();
      sample.rounds = workload.shape().rounds;
      sample.moves.push_back({rounds, *shares});
    } else {
      borders.keep();
    }
  }
  expect_meeting();
  met_at = rounds;
  ++version;
}

std::vector<Owner> SampleRun::owners_of(const std::vector<Items>& shares) const {
  std::vector<Owner> owners;
  const std::vector<Slice> ranges = ranges_of(shares);
  for (std::uint32_t i = 0; i < ranges.size(); ++i)
    if (ranges[i].size() > 0)
      owners.push_back({i < places.size() ? places[i] : DeviceIndex{i}, ranges[i]});
  return owners;
}

void SampleRun::end() {
  sample.end = backend.now();
  stage = Stage::over;
}

std::optional<DeviceIndex> SampleRun::merger() const {
  if (!merges) return std::nullopt;
  DeviceMerge* const merge = workload.device_merge();
  if (merge == nullptr) return std::nullopt;
  const DeviceIndex best = merge_device;
  const bool on_host = merge->merges_on_host();
  if (seats[best.value].alive &&
      (!on_host || merge->merge_on_device(members[best.value].device->resources().traits())))
    return best;
  for (std::uint32_t i = 0; i < seats.size() && !on_host; ++i) {
    if (seats[i].alive) return DeviceIndex{i};
  }
  return std::nullopt;
}

void SampleRun::fail(const Error& error) {
  if (over()) return;
  sample.failure = error;
  end();
}

bool SampleRun::waits_for_another(DeviceIndex member) {
  if (peers == nullptr || member.value >= places.size()) return false;
  DeviceIndex device = places[member.value];
  for (std::size_t step = 0; step < peers->size(); ++step) {
    const DeviceIndex awaited = peers->awaited_by(device);
    if (awaited == device) return device != places[member.value];
    device = awaited;
  }
  return false;  // they wait for each other
}

void SampleRun::lose(DeviceFault fault) {
  const DeviceIndex device = fault.device;
  Seat& seat = seats[device.value];
  seat.alive = false;
  if (stage == Stage::merging && device == merge_device.load())
    stage = Stage::working;  // those left finish again, and merge
  fault.at = backend.now() - sample.begin;
  fault.lost = std::exchange(seat.not_on_host, {});
  for (const Slice& slice : fault.lost) fault.items_lost += slice.size();
  // What had finished and is lost is computed again, and counts only then.
  for (const std::uint32_t at : seat.records) {
    finished -= sample.slices[at].end - sample.slices[at].begin;
    sample.slices[at].lost = true;
  }
  const Error error(fault.kind, fault.what);
  sample.faults.push_back(std::move(fault));
  if (peers != nullptr && device.value < places.size()) {
    last_loss = backend.now();  // first: nobody may find that it waits for no one, and not that
                                // somebody was lost
    peers->lose(places[device.value]);
    // What the others have of it, and of each other, is not known.
    const bool under_way =
        (stage == Stage::combining && together) ||
        std::any_of(seats.begin(), seats.end(), [](const Seat& each) { return !each.prepared; });
    together = false;
    if (stage == Stage::combining)
      stage = Stage::working;  // those left do its part, and bring that too
    for (Seat& each : seats) each.brought = false;
    if (under_way)
      return fail(Error(error.kind(), "a device was lost in the middle of an exchange: " +
                                          std::string(error.what())));
  }
  if (over()) {  // what became of its commands was read too late for others to compute its part
                 // again
    if (!sample.failure) sample.failure = error;
    return;
  }
  try {
    source.lost(device, sample.faults.back().lost);
  } catch (const Error& hopeless) {
    return fail(hopeless);
  }
  ++version;
  if (std::none_of(seats.begin(), seats.end(), [](const Seat& each) { return each.alive; })) {
    none_left = true;
    fail(error);
  }
}

void SampleRun::notify_all() {
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (listening[i]) members[i].device->notifier().notify();
  }
}

}  // namespace mgpu
