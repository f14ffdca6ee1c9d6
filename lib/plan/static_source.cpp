// Contiguous shares, handed out in pieces; see the header.
#include "lib/plan/static_source.hpp"

#include <algorithm>
#include <cmath>

#include "lib/base/error.hpp"
#include "lib/plan/apportion.hpp"
#include "lib/plan/ledger.hpp"

namespace mgpu {
namespace {

class StaticSource final : public SliceSource {
 public:
  StaticSource(const PlanRequest& request, std::span<const Items> shares) : ledger_(request) {
    if (shares.size() != request.devices.size()) throw Error(ErrorKind::internal, "a static plan needs one share per device");
    Items begin = 0;
    for (std::size_t i = 0; i < shares.size(); ++i) {
      ledger_.assign({static_cast<std::uint32_t>(i)}, {begin, begin + shares[i]});
      begin += shares[i];
    }
  }

  Answer next(DeviceIndex device) override {
    if (const auto slice = ledger_.issue_own(device, own_piece(device))) return *slice;
    const Items piece = shared_piece(device);
    if (!ledger_.holds_back(device, piece)) {
      if (const auto slice = ledger_.issue_shared(device, piece)) return *slice;
    }
    return ledger_.nothing_now();
  }
  void finished(DeviceIndex device, const Slice& slice, Nanos) override { ledger_.finished(device, slice); }
  void rejected(DeviceIndex device, const Slice& slice, Items at_most) override { ledger_.rejected(device, slice, at_most); }
  void lost(DeviceIndex device, std::span<const Slice> not_on_host) override { ledger_.lost(device, not_on_host); }
  void joined(DeviceIndex device) override { ledger_.joined(device); }

 private:
  // As many pieces as `pipeline` asks for, all alike: a crumb at the end would cost a launch and overlap nothing.
  Items own_piece(DeviceIndex device) const {
    const Items left = ledger_.owned(device), piece = ledger_.piece(device), granularity = ledger_.granularity();
    if (left <= piece) return left;
    const Items pieces = ceil_div(left, std::max(round_down(piece, granularity), granularity));
    return round_up(ceil_div(left, pieces), granularity);
  }

  // Guided self-scheduling (Polychronopoulos and Kuck, 1987) at a quarter of an even share: nobody knows how far along the others
  // are with their own work, and the last pieces are small whoever takes them.
  Items shared_piece(DeviceIndex device) const {
    const Items even = ledger_.shared() / (4 * std::max<std::size_t>(ledger_.able(), 1));
    return std::min(ledger_.piece(device), std::max(round_up(even, ledger_.granularity()), ledger_.granularity()));
  }

  Ledger ledger_;
};

}  // namespace

std::unique_ptr<SliceSource> make_static_source(const PlanRequest& request, std::span<const Items> shares) {
  return std::make_unique<StaticSource>(request, shares);
}

std::unique_ptr<SliceSource> make_static_source_by_weight(const PlanRequest& request, std::vector<double> weights) {
  bool any = false, able = false;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const bool can = slice_limit(request, request.devices[i].fits) > 0;
    if (!can || !std::isfinite(weights[i]) || weights[i] < 0) weights[i] = 0;
    any = any || weights[i] > 0;
    able = able || can;
  }
  for (std::size_t i = 0; i < weights.size() && able && !any; ++i) {
    weights[i] = slice_limit(request, request.devices[i].fits) > 0 ? 1 : 0;
  }
  // With no device able, the ledger says so; with nothing to do, nobody has to be.
  std::vector<Items> shares(weights.size(), 0);
  if (able) shares = apportion(request.items, request.granularity, weights);
  return make_static_source(request, shares);
}

}  // namespace mgpu
