// QueueSource: every device has its own queue, one contiguous range that is issued from the front
// in shrinking pieces. Work that is not yet issued may move to another's queue, from the tail;
// strategies derived from this class decide when. Work of lost devices, and work that a device
// turns out not to be able to take, is shared by all others, as in lib/plan/static_source.hpp.
#pragma once

#include <optional>
#include <vector>

#include "lib/plan/ledger.hpp"
#include "lib/plan/observed_rates.hpp"
#include "lib/plan/slice_source.hpp"

namespace mgpu {

class QueueSource : public SliceSource {
 public:
  // A piece is a sixth of the rest of a queue, but at least 1/most_pieces of a fair share, and more
  // if launches would cost over 2 % of the run, or 4 % if one device is three times as fast; pieces
  // of that least size are equal. Shares are proportional to `weights`, one per device. Without
  // weights they are such that, by the estimates, all devices end together, including the cost of
  // their pieces.
  QueueSource(const PlanRequest& request, double most_pieces,
              const std::optional<std::vector<double>>& weights = std::nullopt);

  Answer next(DeviceIndex device) override;
  void finished(DeviceIndex device, const Slice& slice, Nanos busy) override;
  void rejected(DeviceIndex device, const Slice& slice, Items at_most) override;
  void lost(DeviceIndex device, std::span<const Slice> not_on_host) override;
  void joined(DeviceIndex device) override;
  std::vector<Items> first_shares() const override { return shares_; }
  std::optional<Items> moved() const override { return ledger_.moved(); }
  Items moved_from(DeviceIndex device) const override { return ledger_.moved_from(device); }

 protected:
  // Moves work between queues; called before a device is answered.
  virtual void balance(DeviceIndex asking) = 0;

  Ledger& ledger() { return ledger_; }
  const Ledger& ledger() const { return ledger_; }
  const ObservedRates& observed() const { return observed_; }
  // Returns the seconds that an additional slice costs a device: at least its kernels, transfers,
  // and what it adds to the merge. 0 while nothing is timed.
  double move_cost(DeviceIndex device) const {
    return observed_.timed() ? move_costs_[device.value] : 0;
  }
  // Returns when the device would finish its queue if nothing were moved.
  double queue_end(DeviceIndex device) const;
  // If the device has no work left, moves work to it from the tail of the queue that would end
  // last, if that gains time.
  void steal_if_idle(DeviceIndex thief);

 private:
  void steal(DeviceIndex thief, DeviceIndex victim, double before);
  void set_least_pieces();
  std::vector<double> weights_with_pieces(std::vector<double> rates) const;
  Items own_piece(DeviceIndex device) const;
  bool keeps_in_reach(DeviceIndex device, Items piece) const;
  bool ends_late(DeviceIndex device, Items piece);
  Answer issued(const Slice& slice);

  Ledger ledger_;
  ObservedRates observed_;
  std::vector<Items> shares_;
  double items_, most_pieces_;
  std::vector<double> least_;  // least items of a piece, per device
  std::vector<double> most_;   // most pieces of each initial device
  std::vector<double> move_costs_;
  std::vector<bool> singly_;  // whether the device gets long pieces one at a time
  // End of all work that is not issued; invalid once a slice is issued or ends. Moves do not change
  // it.
  std::optional<double> common_end_;
};

}  // namespace mgpu
