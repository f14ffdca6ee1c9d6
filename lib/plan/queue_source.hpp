// QueueSource: every device has a queue of its own, one contiguous range that it is given from the
// front in shrinking pieces; what is not yet issued may move to another's queue, from the tail.
// When it moves is what strategies on top of it decide. Work of lost devices, and what a device
// turns out not to take, is shared by all others, as in lib/plan/static_source.hpp.
#pragma once

#include <optional>
#include <vector>

#include "lib/plan/ledger.hpp"
#include "lib/plan/observed_rates.hpp"
#include "lib/plan/slice_source.hpp"

namespace mgpu {

class QueueSource : public SliceSource {
 public:
  // A piece is a sixth of what is left of a queue, but at least 1/most_pieces of a fair share, and
  // more where launches would cost over 2 % of the run, or 4 % where one device is three times as
  // fast; pieces of that least size are all alike. Shares are in proportion to `weights`, one per
  // device; without any, as estimates say that all end together, each with what its pieces cost.
  QueueSource(const PlanRequest& request, double most_pieces,
              const std::optional<std::vector<double>>& weights = std::nullopt);

  Answer next(DeviceIndex device) override;
  void finished(DeviceIndex device, const Slice& slice, Nanos busy) override;
  void rejected(DeviceIndex device, const Slice& slice, Items at_most) override;
  void lost(DeviceIndex device, std::span<const Slice> not_on_host) override;
  void joined(DeviceIndex device) override;
  std::vector<Items> first_shares() const override { return shares_; }

 protected:
  // Before a device is answered: the moment to move work.
  virtual void balance(DeviceIndex asking) = 0;

  Ledger& ledger() { return ledger_; }
  const Ledger& ledger() const { return ledger_; }
  const ObservedRates& observed() const { return observed_; }
  // Seconds that a slice which a device would not have had costs: its kernels at least, transfers,
  // and what it leaves to merge. 0 while nothing is timed.
  double move_cost(DeviceIndex device) const {
    return observed_.timed() ? move_costs_[device.value] : 0;
  }
  // When it would finish its queue, with nothing moved.
  double queue_end(DeviceIndex device) const;
  // A device that has run out takes from the tail of the queue that would end last, where that
  // pays.
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
  std::vector<double> least_;  // items a piece has at least, per device
  std::vector<double> most_;   // pieces of each device that was there at the beginning
  std::vector<double> move_costs_;
  std::vector<bool> singly_;          // the device is given pieces that take long one at a time
  std::optional<double> common_end_;  // of all that is not issued, until something is issued or
                                      // ends; what is moved does not change it
};

}  // namespace mgpu
