// Work that goes in rounds, when a device is lost in the middle of a sample: its state is gone,
// those that are left exchange data anew, and begin the sample again from the last checkpoint.
#include <algorithm>
#include <utility>

#include "lib/exec/leak.hpp"
#include "lib/session/group_run.hpp"

namespace mgpu {

bool Group::goes_in_rounds() const { return given_.workload.iterative() != nullptr; }

// States are in memory that devices of a group share: once it is broken up, programs are of no use.
void Group::connect_those_left() {
  while (goes_in_rounds() && connected_ && !peers_) connect_anew();  // which may lose another
}

void Group::connect_anew() {
  for (std::size_t i = 0; i < result_.prepared.size(); ++i) {
    if (result_.prepared[i].program && given_.devices[i].open) release_program(i);
  }
  disconnect();
  connect();
  for (std::size_t i = 0; i < result_.prepared.size(); ++i) {
    Prepared& mine = result_.prepared[i];
    if (given_.devices[i].lost || !given_.devices[i].open || mine.capacity.fits == 0) continue;
    const SetupCost cost = mine.cost;  // of the first time, which is that of the record
    const Nanos upload = mine.upload;
    prepare_device(i);
    mine.cost = cost;
    mine.upload = upload;
  }
}

// By those that are left of its devices, or else by another; as long as some are lost. `devices`:
// of the sample, to which a device that steps in is added.
RawSample Group::begin_again(const Case& the_case, const SampleRequest& first, RawSample sample,
                             std::vector<std::size_t>& devices) {
  for (std::size_t known = 0;
       sample.failure && !sample.interrupted && known < sample.faults.size();) {
    for (; known < sample.faults.size(); ++known) {
      const DeviceFault& fault = sample.faults[known];
      note_loss(devices[fault.device.value], fault);
    }
    connect_those_left();
    std::vector<std::size_t> left;
    std::vector<DeviceIndex> places;
    for (std::uint32_t i = 0; i < devices.size(); ++i) {
      if (!is_usable(devices[i])) continue;
      left.push_back(devices[i]);
      places.push_back({i});
    }
    if (left.empty()) {
      const auto other = the_case.alone() ? std::nullopt : stand_in(the_case);
      if (!other) return sample;
      places.push_back({static_cast<std::uint32_t>(devices.size())});
      devices.push_back(*other);
      left.push_back(*other);
    }
    if (left.size() > 1 && !peers_) return sample;
    Prediction prediction;
    prediction.estimates = predictor_.estimate(left);
    SampleRequest request = first;
    request.members.clear();
    request.places.clear();
    request.exchanging.clear();
    request.peers = nullptr;
    request.reserve = {};
    for (const std::size_t i : left) request.members.push_back(member(i));
    request.merge_device = fastest_of(prediction.estimates.devices);
    std::unique_ptr<SliceSource> source;
    try {
      predictor_.choose(prediction, the_case.strategy());
      source = predictor_.begin(prediction, the_case.strategy(), {});
    } catch (const Error& error) {
      sample.failure = error;
      return sample;
    }
    request.source = source.get();
    request.again = true;
    exchange(request, prediction, left);
    MovableWorkload* const movable = given_.workload.movable();
    const std::uint32_t round = movable != nullptr ? movable->checkpointed_rounds() : 0;
    sample = joined(std::move(sample), given_.executor.run(request), round, places);
  }
  return sample;
}

}  // namespace mgpu
