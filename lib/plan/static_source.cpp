// Hands out contiguous shares in pieces.
#include "lib/plan/static_source.hpp"

#include <algorithm>
#include <cmath>

#include "lib/base/error.hpp"
#include "lib/plan/apportion.hpp"
#include "lib/plan/even_pieces.hpp"
#include "lib/plan/exchange.hpp"
#include "lib/plan/ledger.hpp"
#include "lib/plan/shared_piece.hpp"
#include "lib/plan/tree_cuts.hpp"

namespace mgpu {
namespace {

class StaticSource final : public SliceSource {
 public:
  StaticSource(const PlanRequest& request, std::span<const Items> shares)
      : ledger_(request), shares_(shares.begin(), shares.end()) {
    if (shares.size() != request.devices.size())
      throw Error(ErrorKind::internal, "a static plan needs one share per device");
    Items begin = 0;
    for (std::size_t i = 0; i < shares.size(); ++i) {
      ledger_.assign({static_cast<std::uint32_t>(i)}, {begin, begin + shares[i]});
      begin += shares[i];
    }
  }

  Answer next(DeviceIndex device) override {
    if (const auto slice =
            ledger_.issue_own(device, even_piece(ledger_, device, ledger_.owned(device))))
      return *slice;
    const Items piece = shared_piece(ledger_, device);
    if (!ledger_.holds_back(device, piece)) {
      if (const auto slice = ledger_.issue_shared(device, piece)) return *slice;
    }
    return ledger_.nothing_now();
  }
  void finished(DeviceIndex device, const Slice& slice, Nanos) override {
    ledger_.finished(device, slice);
  }
  bool uses_times() const override { return false; }
  void rejected(DeviceIndex device, const Slice& slice, Items at_most) override {
    ledger_.rejected(device, slice, at_most);
  }
  void lost(DeviceIndex device, std::span<const Slice> not_on_host) override {
    ledger_.lost(device, not_on_host);
  }
  void joined(DeviceIndex device) override { ledger_.joined(device); }
  std::vector<Items> first_shares() const override { return shares_; }

 private:
  Ledger ledger_;
  std::vector<Items> shares_;
};

// Moves cuts between shares if that saves more of the merge than the longer share costs, by the
// estimates, if rates are known.
void even_cuts(const PlanRequest& request, std::vector<Items>& shares) {
  if (!request.merge.tree) return;
  constexpr Items kPart = 16;  // a cut moves by at most 1/16 of the smaller share
  const double per_part = seconds(merge_per_part(request));
  Items cut = 0;
  for (std::size_t i = 0, next = 1; next < shares.size(); ++next) {
    if (shares[next] == 0) continue;
    const Items begin = cut;
    cut += shares[i];
    const Items most = round_down(std::min(shares[i], shares[next]) / kPart, request.granularity),
                end = cut + shares[next];
    const Items better =
        shares[i] == 0 ? cut : even_cut(cut - most, cut, cut + most, request.granularity);
    const auto nodes = [&](Items at) {
      return nodes_that_cover({begin, at}, request.items) +
             nodes_that_cover({at, end}, request.items);
    };
    const double saved =
        per_part * (static_cast<double>(nodes(cut)) - static_cast<double>(nodes(better)));
    // Rate of the device whose share becomes longer.
    const double rate = request.devices[better > cut ? i : next].items_per_s;
    const auto moved = static_cast<double>(better > cut ? better - cut : cut - better);
    if (rate > 0 && saved > moved / rate) {
      shares[i] = better - begin;
      shares[next] = end - better;
      cut = better;
    }
    i = next;
  }
}

}  // namespace

std::unique_ptr<SliceSource> make_static_source(const PlanRequest& request,
                                                std::span<const Items> shares) {
  return std::make_unique<StaticSource>(request, shares);
}

std::vector<Items> shares_by_weight(const PlanRequest& request, std::vector<double> weights) {
  const std::vector<bool> takes_part = taking_part(request);
  bool any = false;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (!takes_part[i] || !std::isfinite(weights[i]) || weights[i] < 0) weights[i] = 0;
    any = any || weights[i] > 0;
  }
  if (!any) weights.assign(takes_part.begin(), takes_part.end());
  // If no device is able, the ledger reports it, unless there is nothing to do.
  if (std::find(takes_part.begin(), takes_part.end(), true) == takes_part.end())
    return std::vector<Items>(weights.size(), 0);
  std::vector<Items> shares = apportion(request.items, request.granularity, weights);
  even_cuts(request, shares);
  return shares;
}

std::unique_ptr<SliceSource> make_static_source_by_weight(const PlanRequest& request,
                                                          std::vector<double> weights) {
  return make_static_source(request, shares_by_weight(request, std::move(weights)));
}

}  // namespace mgpu
