// Which devices of a group exchange data, and in which samples.
#include <algorithm>
#include <utility>

#include "lib/exec/leak.hpp"
#include "lib/session/group_run.hpp"

namespace mgpu {
namespace {

// By default data is exchanged only where devices reach each other's memory: by way of the host nothing is gained that each could
// not have from there itself. What was asked for is done.
bool is_worth_it(PeerGroup& group, const std::optional<PeerPath>& asked) {
  for (std::uint32_t from = 0; from < group.size(); ++from) {
    for (std::uint32_t to = 0; to < group.size(); ++to) {
      if (from != to && group.peer({from}).path({to}) != asked.value_or(PeerPath::direct)) return false;
    }
  }
  return asked != PeerPath::staged;
}

}  // namespace

void Group::connect() {
  if (!given_.workload.exchanges(given_.mode) || given_.options.peer == PeerPath::staged) return;
  std::vector<OpenDevice*> open;
  places_.assign(given_.devices.size(), 0);
  for (std::size_t i = 0; i < in_set_; ++i) {
    if (given_.devices[i].lost) continue;
    places_[i] = open.size();
    open.push_back(given_.devices[i].open.get());
  }
  if (open.size() < 2) return;
  try {
    peers_ = given_.backend.connect(open, given_.options.peer);
    result_.exchange_notes.assign(peers_->notes().begin(), peers_->notes().end());
    if (!is_worth_it(*peers_, given_.options.peer)) return peers_.reset();
    connected_ = true;
    given_.workload.connect(*peers_);
  } catch (const Error& error) {  // each brings all it needs itself
    if (error.kind() != ErrorKind::interrupted) {
      result_.exchange_notes.push_back(std::string("devices exchange no data: ") + error.what());
      given_.observer.warning(result_.exchange_notes.back());
    }
    if (connected_) given_.workload.disconnect();
    connected_ = false;
    peers_.reset();
  }
}

void Group::exchange(SampleRequest& request, std::span<const std::size_t> devices) {
  if (!peers_ || devices.size() < 2) return;
  for (const std::size_t i : devices) request.places.push_back({static_cast<std::uint32_t>(places_[i])});
  request.peers = peers_.get();
}

// A device is lost: from now on each brings all it needs itself. What they share stays until the programs are gone.
void Group::break_up() {
  if (!peers_) return;
  for (const SessionDevice& device : given_.devices) {
    if (!device.open || try_drain(given_.backend, *device.open)) continue;
    leak(std::move(peers_));
    return;
  }
  peers_.reset();
}

void Group::disconnect() {
  if (connected_) given_.workload.disconnect();
  connected_ = false;
  break_up();
}

}  // namespace mgpu
