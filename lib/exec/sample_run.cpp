// The end of a sample, device failures in it, and notification of workers.
#include "lib/exec/sample_run.hpp"

#include <algorithm>
#include <utility>

#include "lib/exec/driver_call.hpp"
#include "lib/plan/rounds.hpp"

namespace mgpu {

SampleRun::SampleRun(Backend& backend_, SampleRequest request_)
    : backend(backend_),
      request(std::move(request_)),
      workload(*request.workload),
      source(*request.source),
      participants(request.participants),
      merge_device(request.merge_device),
      listening(participants.size() + 1),
      participant_states(participants.size()) {
  PeerExchange* const exchange = workload.exchange();
  combines = request.peers != nullptr && exchange != nullptr && exchange->combines();
  for (std::uint32_t i = 0; i < participant_states.size(); ++i)
    participant_states[i].prepared = !exchanges({i});
}

void SampleRun::note_handovers() {
  const std::optional<Items> moved = source.moved();
  if (!moved || *moved == moved_) return;
  moved_ = *moved;
  moved_from.resize(participants.size());
  for (std::uint32_t i = 0; i < moved_from.size(); ++i) {
    const Items before = std::exchange(moved_from[i], source.moved_from({i}));
    if (moved_from[i] > before)
      sample.handovers.push_back({{i}, backend.now() - sample.begin, moved_from[i] - before});
  }
}

void SampleRun::plan_rebalance() {
  Rebalancer* const rebalancer = source.rebalancer();
  const auto next = rebalancer != nullptr ? rebalancer->next_rebalance(first_round) : std::nullopt;
  rebalance_at = next.value_or(0);
  if (rebalancer == nullptr) return;
  rebalance_point.ranges = ranges_of(rebalancer->shares());
  rebalance_point.busy.assign(participants.size(), {});
  rebalance_point.missing = static_cast<std::size_t>(
      std::count_if(rebalance_point.ranges.begin(), rebalance_point.ranges.end(),
                    [](const Slice& range) { return range.size() > 0; }));
}

void SampleRun::arrive_at_rebalance(DeviceIndex participant, std::vector<Nanos> busy) {
  rebalance_point.busy[participant.value] = std::move(busy);
  if (--rebalance_point.missing > 0) return;
  Rebalancer& rebalancer = *source.rebalancer();
  const std::uint32_t rounds = rebalance_at;
  const Nanos now = backend.now();
  if (const auto shares = rebalancer.meet(rebalance_point.busy)) {
    MovableWorkload* const movable = workload.movable();
    if (movable != nullptr && movable->repartition(owners_of(*shares))) {
      rebalance_point.moved_at = rounds;
      rebalance_point.decided = now;
      note_repartition(*shares, now - sample.begin);
      sample.rounds = workload.shape().rounds;
      sample.moves.push_back({rounds, *shares});
    } else {
      rebalancer.keep();
    }
  }
  plan_rebalance();
  rebalanced_at = rounds;
  ++version;
}

// Notes the items that each device gives to others with new shares.
void SampleRun::note_repartition(const std::vector<Items>& shares, Nanos at) {
  const std::vector<Slice> ranges = ranges_of(shares);
  for (std::uint32_t i = 0; i < ranges.size(); ++i) {
    const Slice &before = rebalance_point.ranges[i], &after = ranges[i];
    const Items begin = std::max(before.begin, after.begin), end = std::min(before.end, after.end),
                kept = end > begin ? end - begin : 0;
    if (before.size() == kept) continue;
    sample.handovers.push_back({{i}, at, before.size() - kept});
    sample.migration->items += before.size() - kept;
  }
}

std::vector<Owner> SampleRun::owners_of(const std::vector<Items>& shares) const {
  std::vector<Owner> owners;
  const std::vector<Slice> ranges = ranges_of(shares);
  for (std::uint32_t i = 0; i < ranges.size(); ++i)
    if (ranges[i].size() > 0)
      owners.push_back({i < request.places.size() ? request.places[i] : DeviceIndex{i}, ranges[i]});
  return owners;
}

SampleRun::Ending SampleRun::finish(DeviceIndex participant) {
  participant_states[participant.value].done_at = version;
  if (over()) return Ending::others_are_at_work;
  for (const ParticipantState& each : participant_states)
    if (each.alive && each.done_at != version) return Ending::others_are_at_work;
  // No worker acts any more: all have ended at this version, and only a worker with something left
  // to do changes it.
  sample.merge_begin = backend.now();
  if (combines) {
    stage_ = Stage::combining;
    return Ending::devices_merge;
  }
  const std::optional<DeviceIndex> on = merger();
  if (!on) return Ending::host_merges;
  merge_device = *on;       // set before the stage, by which its worker sees it
  stage_ = Stage::merging;  // its own worker merges: streams and kernels belong to one thread
  return Ending::devices_merge;
}

bool SampleRun::bring(DeviceIndex participant) {
  participant_states[participant.value].brought = true;
  return std::all_of(participant_states.begin(), participant_states.end(),
                     [](const ParticipantState& each) { return !each.alive || each.brought; });
}

void SampleRun::end() {
  sample.end = backend.now();
  stage_ = Stage::over;
}

bool SampleRun::host_can_merge() const {
  DeviceMerge* const merge = workload.device_merge();
  return merge == nullptr || merge->merges_on_host();
}

std::optional<DeviceIndex> SampleRun::merger() const {
  DeviceMerge* const merge = workload.device_merge();
  if (!request.merges || merge == nullptr) return std::nullopt;
  const DeviceIndex best = merge_device;
  const bool on_host = host_can_merge();
  if (participant_states[best.value].alive &&
      (!on_host || merge->merge_on_device(participants[best.value].device->resources().traits(),
                                          request.merge_per_part)))
    return best;
  for (std::uint32_t i = 0; i < participant_states.size() && !on_host; ++i) {
    if (participant_states[i].alive) return DeviceIndex{i};
  }
  return std::nullopt;
}

void SampleRun::fail(const Error& error) {
  if (over()) return;
  sample.failure = error;
  end();
  // Commands under way may wait for data that will never be sent.
  if (request.peers != nullptr && !request.places.empty())
    request.peers->mark_failed(request.places.front());
}

void SampleRun::interrupt() {
  {
    const std::lock_guard lock(mutex);
    if (over()) return;
    sample.interrupted = true;
    stop_by = backend.now() + kStopGrace;
    fail(Error(ErrorKind::internal, "interrupted"));
  }
  notify_all();
}

DeviceIndex SampleRun::take_over(const Participant& participant) {
  const DeviceIndex index{static_cast<std::uint32_t>(participants.size())};
  participants.push_back(participant);
  participant_states.emplace_back();
  merge_device = index;
  sample.failure.reset();
  stage_ = Stage::working;
  ++version;
  try {
    source.joined(index);
  } catch (const Error& error) {
    fail(error);
  }
  return index;
}

bool SampleRun::waits_for_another(DeviceIndex participant) {
  if (request.peers == nullptr || participant.value >= request.places.size()) return false;
  const DeviceIndex own = request.places[participant.value];
  DeviceIndex device = own;
  for (std::size_t step = 0; step < request.peers->size(); ++step) {
    const DeviceIndex awaited = request.peers->awaited_by(device);
    if (awaited == device) return device != own;
    device = awaited;
  }
  return false;  // they wait for each other
}

bool SampleRun::mark_failed(DeviceFault fault, bool caller_may_merge) {
  const DeviceIndex device = fault.device;
  ParticipantState& participant_state = participant_states[device.value];
  participant_state.alive = false;
  fault.at = backend.now() - sample.begin;
  fault.merging = stage_ == Stage::merging && device == merge_device.load();
  if (fault.merging) stage_ = Stage::working;  // the remaining workers finish again, and merge
  if (fault.merging && caller_may_merge && host_can_merge()) {
    sample.faults.push_back(std::move(fault));  // the partials are on the host
    return true;
  }
  fault.lost = std::exchange(participant_state.not_on_host, {});
  for (const Slice& slice : fault.lost) fault.items_lost += slice.size();
  // Slices that had finished and are lost are computed again, and count only then.
  for (const std::uint32_t at : participant_state.records) {
    finished -= sample.slices[at].end - sample.slices[at].begin;
    sample.slices[at].lost = true;
  }
  const Error error(fault.kind, fault.what);
  sample.faults.push_back(std::move(fault));
  if (request.peers != nullptr && device.value < request.places.size()) {
    // Must come first: no worker may find that its peer is gone without seeing that a device
    // failed.
    last_loss = backend.now();
    request.peers->mark_failed(request.places[device.value]);
    // The peers may have received only part of its data, and of each other's.
    const bool under_way = (stage_ == Stage::combining && together) ||
                           std::any_of(participant_states.begin(), participant_states.end(),
                                       [](const ParticipantState& each) { return !each.prepared; });
    together = false;
    // The remaining devices do its part, and bring the results of that, too.
    if (stage_ == Stage::combining) stage_ = Stage::working;
    for (ParticipantState& each : participant_states) each.brought = false;
    if (under_way) {
      fail(Error(error.kind(),
                 "a device was lost in the middle of an exchange: " + std::string(error.what())));
      return false;
    }
  }
  if (over()) {  // its commands were read too late for others to compute its part again
    if (!sample.failure) sample.failure = error;
    return false;
  }
  try {
    source.lost(device, sample.faults.back().lost);
  } catch (const Error& hopeless) {
    fail(hopeless);
    return false;
  }
  ++version;
  none_left = std::none_of(participant_states.begin(), participant_states.end(),
                           [](const ParticipantState& each) { return each.alive; });
  if (none_left) fail(error);
  return false;
}

void SampleRun::notify_all() {
  for (std::size_t i = 0; i < participants.size(); ++i) {
    if (listening[i]) participants[i].device->notifier().notify();
  }
}

}  // namespace mgpu
