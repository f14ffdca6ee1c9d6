#include "lib/session/group_exchange.hpp"

#include <algorithm>
#include <utility>

#include "lib/exec/driver_call.hpp"
#include "lib/exec/leak.hpp"
#include "lib/plan/exchange.hpp"

namespace mgpu {
namespace {

std::vector<PeerPath> paths_in(PeerGroup& group) {
  std::vector<PeerPath> paths;
  for (std::uint32_t from = 0; from < group.size(); ++from) {
    for (std::uint32_t to = 0; to < group.size(); ++to)
      if (from != to) paths.push_back(group.peer({from}).path({to}));
  }
  return paths;
}

}  // namespace

std::optional<ExchangeEstimate> GroupExchange::connect() {
  PeerExchange* const exchange = given_.workload.exchange();
  const Exchanged exchanged = exchange != nullptr ? exchange->exchanged(given_.mode) : Exchanged{};
  if (!exchanged.any() || (given_.options.peer == PeerPath::staged && exchanged.rounds == 0))
    return std::nullopt;
  std::vector<OpenDevice*> open;
  places_.assign(given_.devices.size(), 0);
  for (std::size_t i = 0; i < in_set(given_.devices); ++i) {
    if (given_.devices[i].lost) continue;
    places_[i] = open.size();
    open.push_back(given_.devices[i].open.get());
  }
  if (open.size() < 2) return std::nullopt;
  notes_.clear();
  try {
    if (!connect_by(given_.options.peer, open, exchanged)) return std::nullopt;
    const std::vector<PeerPath> paths = paths_in(*peers_);
    const PeerLinks& known = given_.options.given_estimates
                                 ? given_.options.given_estimates->exchange.links
                                 : given_.options.calibration.peers;
    const auto is_in_use = [&](PeerPath path) { return path == paths.front(); };
    const bool held = std::any_of(given_.devices.begin(), given_.devices.end(),
                                  [](const SessionDevice& one) { return one.handicap.stalls(); });
    if (const auto calibrated = paths_of(known);
        std::all_of(calibrated.begin(), calibrated.end(), is_in_use))
      return exchange_estimate(exchanged, known, held);
  } catch (const Error& error) {  // then each device uploads all it needs
    if (error.kind() != ErrorKind::interrupted) {
      notes_.push_back(std::string("devices exchange no data: ") + error.what());
      given_.observer.warning(notes_.back());
    }
    disconnect();
  }
  return std::nullopt;
}

// Connects the workload over the path. Returns false if exchanging gains nothing. Falls back to
// staging through the host if the workload cannot use the best path.
bool GroupExchange::connect_by(std::optional<PeerPath> path, std::span<OpenDevice* const> devices,
                               const Exchanged& exchanged) {
  peers_ = given_.backend.connect(devices, path);
  notes_.insert(notes_.end(), peers_->notes().begin(), peers_->notes().end());
  const std::vector<PeerPath> paths = paths_in(*peers_);
  if (exchanged.rounds == 0 && !is_worth_exchanging(paths, path)) {
    disconnect();
    return false;
  }
  connected_ = true;
  try {
    attend(given_.backend, nullptr, [&] { given_.workload.exchange()->connect(*peers_); });
    return true;
  } catch (const Error& error) {
    const bool direct = std::find(paths.begin(), paths.end(), PeerPath::direct) != paths.end();
    if (error.kind() != ErrorKind::unsupported || path || !direct) throw;
    disconnect();
    notes_.push_back(std::string("staged between all devices: ") + error.what());
  }
  return connect_by(PeerPath::staged, devices, exchanged);
}

// Only devices that get work exchange data: sending data to others takes time and is useless.
void GroupExchange::add_to(SampleRequest& request, std::vector<bool> exchanging,
                           std::span<const std::size_t> devices) const {
  request.exchanging = std::move(exchanging);
  if (std::count(request.exchanging.begin(), request.exchanging.end(), true) == 0) return;
  for (const std::size_t i : devices)
    request.places.push_back({static_cast<std::uint32_t>(places_[i])});
  request.peers = peers_.get();
}

void GroupExchange::disband() {
  if (!peers_) return;
  const bool at_rest =
      std::all_of(given_.devices.begin(), given_.devices.end(), [&](const SessionDevice& device) {
        return !device.open || try_drain(given_.backend, *device.open);
      });
  if (!at_rest || !release_shared([&] { peers_.reset(); })) leave();
}

void GroupExchange::disconnect() {
  const bool connected = std::exchange(connected_, false);
  if (connected && !release_shared([&] { given_.workload.exchange()->disconnect(); })) leave();
  disband();
}

// Calls `release`. Returns false if a driver did not return; objects not released by then stay
// allocated.
bool GroupExchange::release_shared(const std::function<void()>& release) {
  try {
    attend(given_.backend, nullptr, release);
    return true;
  } catch (const Error&) {
    given_.memory_in_use = true;
    return false;
  }
}

void GroupExchange::leave() {
  if (peers_) peers_->dissolve();
  leak(std::move(peers_));
}

}  // namespace mgpu
