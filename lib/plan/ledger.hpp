// Ledger: where every item of a run is: shared (anyone may take it), owned (reserved for one
// device), in flight, or finished. Every SliceSource keeps one; a strategy only decides which
// pieces go from shared or owned into flight. What follows from failures (work of lost devices,
// smaller pieces after a rejection, the turn of devices in reserve) is the same for all strategies
// and lives here. Sizes of pieces do not.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "lib/plan/interval_set.hpp"
#include "lib/plan/slice_source.hpp"

namespace mgpu {

constexpr Items round_down(Items a, Items b) { return a / b * b; }

// The largest slice that a device which holds `fits` items may be offered: a multiple of the
// granularity, or all items when those are fewer than one granule. 0: it can take nothing.
Items slice_limit(const PlanRequest& request, Items fits);

// Which devices a plan may give work to: those that can take a granule, without the ones in reserve
// as long as there are others.
std::vector<bool> taking_part(const PlanRequest& request);

class Ledger {
 public:
  // All items are shared. Keeps nothing of the request. Throws Error(unsupported) when there are
  // items and no device can take a granule.
  explicit Ledger(const PlanRequest& request);

  // Reserves a shared range for a device.
  void assign(DeviceIndex device, const Slice& slice);
  // Moves unissued work from the tail of one device's own to another's: whole granules, at most
  // `at_most` items and one range at a time. How many were moved.
  Items move_tail(DeviceIndex from, DeviceIndex to, Items at_most);
  // Puts the front of the device's own work, or of the shared work, into flight: at most `at_most`
  // items rounded down to granules, but never above what the device takes at once. Where results
  // are combined along a tree, pieces are up to a third smaller or larger to end evenly
  // (lib/plan/tree_cuts.hpp), once little is left only as far as that saves more than it costs.
  // Nothing when there is none, or the device takes none.
  std::optional<Slice> issue_own(DeviceIndex device, Items at_most);
  std::optional<Slice> issue_shared(DeviceIndex device, Items at_most);

  // The events of SliceSource. A slice that is not where the event says it is: Error(internal).
  void finished(DeviceIndex device, const Slice& slice);
  void rejected(DeviceIndex device, const Slice& slice,
                Items at_most);  // always lowers the limit below this slice's size
  void lost(
      DeviceIndex device,
      std::span<const Slice> not_on_host);  // slices in flight count as lost whether named or not
  void joined(DeviceIndex device);  // with its first limit; an unknown device: with the smallest of
                                    // the others'

  // What to answer when there is nothing for a device now: Done or Wait. Throws Error(unsupported)
  // when work is left, nothing is in flight and no device can take a granule: waiting would never
  // end.
  Answer nothing_now() const;

  // Should this device wait rather than take a second slice? True when it holds an unfinished one
  // and the shared work, in pieces of `piece`, is no more than the other devices could take now.
  // Otherwise at depth two a device three times slower hoards the last chunk (16 chunks on a 3:1
  // pair lose 20 %). A device with nothing in flight never waits, so this cannot stall a run.
  bool holds_back(DeviceIndex device, Items piece) const;

  Items granularity() const { return granularity_; }
  std::size_t size() const { return accounts_.size(); }
  // Devices that may be given work: there, able to take a granule, and not in reserve unless no
  // other is left.
  std::size_t able() const { return awake_[false] > 0 ? awake_[false] : awake_[true]; }
  bool is_able(DeviceIndex device) const { return may_work(account(device)); }
  Items limit(DeviceIndex device) const { return account(device).limit; }
  Items piece(
      DeviceIndex device) const;  // `pipeline`, from one granule to the limit; 0: takes none
  Items shared() const { return shared_.total(); }
  bool any_in_flight() const { return flights_ > 0; }
  Items owned(DeviceIndex device) const { return account(device).own.total(); }
  Items in_flight(DeviceIndex device) const;  // items
  std::size_t flights(DeviceIndex device) const { return account(device).flights.size(); }
  Items unfinished() const { return items_ - finished_; }

 private:
  struct Flight {
    Slice slice;
    bool own = false;  // came from the device's own work, and goes back there when rejected
  };
  struct Account {
    bool present = true, reserve = false;
    Items limit = 0;        // now
    Items first_limit = 0;  // as estimated
    Items pipeline = 0;
    double rate = 0;  // items/s as estimated; 0: not known
    IntervalSet own, finished;
    std::vector<Flight> flights;
    bool can() const { return present && limit > 0; }
  };

  Account& account(DeviceIndex device);
  const Account& account(DeviceIndex device) const;
  std::optional<Slice> issue(DeviceIndex device, IntervalSet& from, Items at_most);
  Items size_worth_its_merge(const Account& to, const Slice& range, Items size,
                             Items largest) const;
  bool may_work(const Account& account) const {
    return account.can() && (!account.reserve || awake_[false] == 0);
  }
  void update(Account& account, bool present, Items limit);
  Flight take_flight(Account& account, const Slice& slice);

  Items items_, granularity_;
  bool tree_;
  double merge_per_node_;  // seconds
  IntervalSet shared_;
  std::vector<Account> accounts_;
  Items finished_ = 0;
  std::size_t flights_ = 0;
  std::size_t awake_[2] = {
      0,
      0};  // devices that are there and can take a granule: those not in reserve, those in reserve
};

}  // namespace mgpu
