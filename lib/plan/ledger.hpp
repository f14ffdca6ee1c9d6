// Ledger: records where every item of a run is: shared (any device may take it), owned (reserved
// for one device), in flight, or finished. Every SliceSource has one; a strategy only decides which
// pieces go from shared or owned into flight. The consequences of failures (work of lost devices,
// smaller pieces after a rejection, use of devices in reserve) are the same for all strategies and
// are handled here. Sizes of pieces are not.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "lib/plan/interval_set.hpp"
#include "lib/plan/slice_source.hpp"

namespace mgpu {

constexpr Items round_down(Items a, Items b) { return a / b * b; }

// Returns the largest slice that a device with room for `fits` items may be offered: a multiple of
// the granularity, or all items if those are fewer than one granule. 0: it can take nothing.
Items slice_limit(const PlanRequest& request, Items fits);

// Returns, by device, whether a plan may give it work: devices that can take a granule, and those
// in reserve only if there are no others.
std::vector<bool> taking_part(const PlanRequest& request);

class Ledger {
 public:
  // Begins with all items shared. Keeps no reference to the request. Throws Error(unsupported) if
  // there are items and no device can take a granule.
  explicit Ledger(const PlanRequest& request);

  // Reserves a shared range for a device.
  void assign(DeviceIndex device, const Slice& slice);
  // Moves work that is not in flight from the tail of one device's own to another's: whole
  // granules, at most `at_most` items and one range at a time. Returns the number of moved items.
  Items move_tail(DeviceIndex from, DeviceIndex to, Items at_most);
  // Return the number of items that move_tail() moved so far, in total and from a device.
  Items moved() const { return moved_; }
  Items moved_from(DeviceIndex device) const { return account(device).moved; }
  // Issue the front of the device's own work, or of the shared work: at most `at_most` items
  // rounded down to granules, and never more than the device takes at once. If results are combined
  // along a tree, pieces are up to a third smaller or larger to end evenly
  // (lib/plan/tree_cuts.hpp); near the end only as far as that saves more than it costs. Return
  // nothing if there is no work, or the device can take none.
  std::optional<Slice> issue_own(DeviceIndex device, Items at_most);
  std::optional<Slice> issue_shared(DeviceIndex device, Items at_most);

  // The events of SliceSource. Throw Error(internal) if a slice is not where the event says it is.
  void finished(DeviceIndex device, const Slice& slice);
  // Always lowers the limit below this slice's size.
  void rejected(DeviceIndex device, const Slice& slice, Items at_most);
  // Slices in flight count as lost whether they are in `not_on_host` or not.
  void lost(DeviceIndex device, std::span<const Slice> not_on_host);
  // Restores the device with its first limit; an unknown device gets the smallest limit of the
  // others.
  void joined(DeviceIndex device);

  // Returns the answer if there is nothing for a device now: Done or Wait. Throws
  // Error(unsupported) if work is left, nothing is in flight and no device can take a granule:
  // waiting would never end.
  Answer nothing_now() const;

  // Returns whether this device should wait rather than take a second slice: it has an unfinished
  // one, and the shared work, in pieces of `piece`, is no more than the other devices could take
  // now. Otherwise, at depth two, a device three times slower hoards the last chunk (16 chunks on a
  // 3:1 pair lose 20 %). A device with nothing in flight never waits, so this cannot stall a run.
  bool holds_back(DeviceIndex device, Items piece) const;

  Items granularity() const { return granularity_; }
  std::size_t size() const { return accounts_.size(); }
  // Returns the number of devices that may be given work: present, able to take a granule, and not
  // in reserve unless no others are left.
  std::size_t able() const { return awake_[false] > 0 ? awake_[false] : awake_[true]; }
  bool is_able(DeviceIndex device) const { return may_work(account(device)); }
  Items limit(DeviceIndex device) const { return account(device).limit; }
  // `pipeline`, at least one granule and at most the limit; 0: it takes none.
  Items piece(DeviceIndex device) const;
  Items shared() const { return shared_.total(); }
  bool any_in_flight() const { return flights_ > 0; }
  Items owned(DeviceIndex device) const { return account(device).own.total(); }
  Items in_flight(DeviceIndex device) const;  // number of items
  std::size_t flights(DeviceIndex device) const { return account(device).flights.size(); }
  Items unfinished() const { return items_ - finished_; }

 private:
  struct Flight {
    Slice slice;
    bool own = false;  // came from the device's own work, and returns there if rejected
  };
  struct Account {
    bool present = true, reserve = false;
    Items limit = 0;        // current limit
    Items first_limit = 0;  // estimated limit
    Items pipeline = 0;
    double rate = 0;  // estimated items/s; 0: not known
    Items moved = 0;  // moved from its own work to that of others
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
  double merge_per_node_;  // in seconds
  IntervalSet shared_;
  std::vector<Account> accounts_;
  Items finished_ = 0, moved_ = 0;
  std::size_t flights_ = 0;
  // Numbers of present devices that can take a granule: those not in reserve, and those in reserve.
  std::size_t awake_[2] = {0, 0};
};

}  // namespace mgpu
