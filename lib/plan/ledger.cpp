// Implements the bookkeeping of shared, owned, in-flight and finished items.
#include "lib/plan/ledger.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lib/base/error.hpp"
#include "lib/plan/cost_model.hpp"
#include "lib/plan/exchange.hpp"
#include "lib/plan/tree_cuts.hpp"

namespace mgpu {

Items slice_limit(const PlanRequest& request, Items fits) {
  return fits >= std::min(request.granularity, request.items) ? std::min(fits, request.items) : 0;
}

std::vector<bool> taking_part(const PlanRequest& request) {
  const auto can = [&](const DeviceEstimate& device) {
    return slice_limit(request, device.fits) > 0;
  };
  const bool reserve_waits =
      std::any_of(request.devices.begin(), request.devices.end(),
                  [&](const DeviceEstimate& device) { return can(device) && !device.reserve; });
  std::vector<bool> takes_part;
  for (const DeviceEstimate& device : request.devices)
    takes_part.push_back(can(device) && !(device.reserve && reserve_waits));
  return takes_part;
}

Ledger::Ledger(const PlanRequest& request)
    : items_(request.items),
      granularity_(request.granularity),
      tree_(request.merge.tree),
      merge_per_node_(seconds(merge_per_part(request))) {
  if (granularity_ == 0 || request.devices.empty()) {
    throw Error(ErrorKind::internal, "a plan needs a granularity above 0 and at least one device");
  }
  // This limit keeps rounding up to a granule from overflowing.
  constexpr Items most = Items{1} << 62;
  if (items_ > most || granularity_ > most)
    throw Error(ErrorKind::unsupported, "more than 2^62 items cannot be planned");
  shared_.add({0, items_});
  accounts_.reserve(request.devices.size());
  for (const DeviceEstimate& estimate : request.devices) {
    Account& account = accounts_.emplace_back();
    account.first_limit = slice_limit(request, estimate.fits);
    account.pipeline = estimate.pipeline;
    account.reserve = estimate.reserve;
    account.rate = pipelined_rate(request, estimate);
    update(account, true, account.first_limit);
  }
  if (items_ > 0 && able() == 0) {
    throw Error(ErrorKind::unsupported,
                fmt::format("no device of the set can take even one slice of {} items",
                            std::min(items_, granularity_)));
  }
}

Ledger::Account& Ledger::account(DeviceIndex device) {
  if (device.value >= accounts_.size())
    throw Error(ErrorKind::internal,
                fmt::format("device {} is not part of the plan", device.value));
  return accounts_[device.value];
}

const Ledger::Account& Ledger::account(DeviceIndex device) const {
  return const_cast<Ledger*>(this)->account(device);
}

void Ledger::update(Account& account, bool present, Items limit) {
  const bool first = awake_[false] == 0;
  if (account.can()) --awake_[account.reserve];
  account.present = present;
  account.limit = limit;
  if (account.can()) ++awake_[account.reserve];
  // A device that is not in reserve is back: it gets the work still assigned to those in reserve.
  if (!first || awake_[false] == 0 || awake_[true] == 0) return;
  for (Account& other : accounts_) {
    if (other.reserve) shared_.absorb(other.own);
  }
}

void Ledger::assign(DeviceIndex device, const Slice& slice) {
  if (!shared_.remove(slice))
    throw Error(ErrorKind::internal, "work was assigned that is not there to assign");
  account(device).own.add(slice);
}

Items Ledger::move_tail(DeviceIndex from, DeviceIndex to, Items at_most) {
  IntervalSet &source = account(from).own, &target = account(to).own;
  const std::optional<Slice> range = source.last();
  if (!range) return 0;
  Items begin =
      range->size() <= at_most ? range->begin : round_up(range->end - at_most, granularity_);
  if (tree_ && begin > range->begin)
    begin = even_cut(begin, begin, range->end - (at_most - at_most / 3), granularity_);
  if (begin >= range->end) return 0;
  const Slice tail{begin, range->end};
  source.remove(tail);
  target.add(tail);
  moved_ += tail.size();
  account(from).moved += tail.size();
  return tail.size();
}

std::optional<Slice> Ledger::issue(DeviceIndex device, IntervalSet& from, Items at_most) {
  Account& to = account(device);
  if (!may_work(to)) return std::nullopt;
  const std::optional<Slice> first = from.first();
  if (!first) return std::nullopt;
  // A range that fits is issued whole: the odd items at its end must not become a slice of their
  // own.
  const Items most = std::min(at_most, to.limit);
  Items size = first->size() <= most ? first->size()
                                     : std::max(round_down(most, granularity_), granularity_);
  if (tree_ && size < first->size()) {
    const Items largest = std::min({size + size / 3, to.limit, first->size()});
    const bool much_is_left = from.total() / 2 / able() > size;
    size = much_is_left ? even_end(first->begin, size, largest, granularity_) - first->begin
                        : size_worth_its_merge(to, *first, size, largest);
  }
  const std::optional<Slice> slice = from.take_first(size);
  to.flights.push_back({*slice, &from == &to.own});
  ++flights_;
  return slice;
}

// Near the end, extra items in a piece, or items left to other devices, cost time: returns the size
// whose cost is at most what it saves of the merge.
Items Ledger::size_worth_its_merge(const Account& to, const Slice& range, Items size,
                                   Items largest) const {
  const Items near = range.begin + size;
  if (!(to.rate > 0)) return even_end(range.begin, size, size, granularity_) - range.begin;
  const auto nodes = [&](Items cut) {
    return static_cast<double>(nodes_that_cover({range.begin, cut}, items_) +
                               nodes_that_cover({cut, std::min(cut + size, range.end)}, items_));
  };
  Items best = near;
  double most = 0;
  for (Items slack = size / 3; slack > 0; slack /= 2) {
    const Items cut =
        even_cut(near - slack, near, std::min(near + slack, range.begin + largest), granularity_);
    const auto moved = static_cast<double>(std::max(cut, near) - std::min(cut, near));
    const double gain = merge_per_node_ * (nodes(near) - nodes(cut)) - moved / to.rate;
    if (gain > most) {
      most = gain;
      best = cut;
    }
  }
  return best - range.begin;
}

std::optional<Slice> Ledger::issue_own(DeviceIndex device, Items at_most) {
  return issue(device, account(device).own, at_most);
}

std::optional<Slice> Ledger::issue_shared(DeviceIndex device, Items at_most) {
  return issue(device, shared_, at_most);
}

Ledger::Flight Ledger::take_flight(Account& account, const Slice& slice) {
  const auto at = std::find_if(account.flights.begin(), account.flights.end(),
                               [&](const Flight& f) { return f.slice == slice; });
  if (at == account.flights.end()) {
    throw Error(ErrorKind::internal, fmt::format("the slice {}..{} is not in flight on this device",
                                                 slice.begin, slice.end));
  }
  const Flight flight = *at;
  account.flights.erase(at);
  --flights_;
  return flight;
}

void Ledger::finished(DeviceIndex device, const Slice& slice) {
  Account& by = account(device);
  take_flight(by, slice);
  by.finished.add(slice);
  finished_ += slice.size();
}

void Ledger::rejected(DeviceIndex device, const Slice& slice, Items at_most) {
  Account& by = account(device);
  const Flight flight = take_flight(by, slice);
  // The slice did not fit, whatever `at_most` says: offering the same size again would never end.
  const Items limit = std::min({by.limit, at_most, slice.size() - 1});
  update(by, by.present, limit < std::min(granularity_, items_) ? 0 : limit);
  (flight.own && may_work(by) ? by.own : shared_).add(slice);
  if (!may_work(by)) shared_.absorb(by.own);
}

void Ledger::lost(DeviceIndex device, std::span<const Slice> not_on_host) {
  Account& by = account(device);
  update(by, false, by.limit);
  for (const Slice& slice : not_on_host) {
    const auto at = std::find_if(by.flights.begin(), by.flights.end(),
                                 [&](const Flight& f) { return f.slice == slice; });
    if (at != by.flights.end()) continue;  // released below, with all that is in flight
    if (!by.finished.remove(slice)) {
      throw Error(ErrorKind::internal, fmt::format("the lost slice {}..{} was not this device's",
                                                   slice.begin, slice.end));
    }
    finished_ -= slice.size();
    shared_.add(slice);
  }
  for (const Flight& flight : by.flights) shared_.add(flight.slice);
  flights_ -= by.flights.size();
  by.flights.clear();
  shared_.absorb(by.own);
}

void Ledger::joined(DeviceIndex device) {
  if (device.value == accounts_.size()) {
    Account newcomer;
    // The smallest limit of the others is the best guess; `rejected` corrects it.
    for (const Account& other : accounts_) {
      if (other.first_limit == 0 ||
          (newcomer.first_limit != 0 && other.first_limit >= newcomer.first_limit))
        continue;
      newcomer.first_limit = other.first_limit;
      newcomer.pipeline = other.pipeline;
    }
    accounts_.push_back(std::move(newcomer));
  }
  Account& by = account(device);
  update(by, true, by.first_limit);
}

Answer Ledger::nothing_now() const {
  if (finished_ == items_) return Done{};
  if (flights_ == 0 && able() == 0) {
    throw Error(
        ErrorKind::unsupported,
        fmt::format(
            "{} of {} items can be placed on no device: each is lost or has too little memory",
            unfinished(), items_));
  }
  return Wait{shared() == 0};
}

bool Ledger::holds_back(DeviceIndex device, Items piece) const {
  const Account& asking = account(device);
  if (asking.flights.empty()) return false;
  const std::size_t others = able() - (may_work(asking) ? 1 : 0);
  return ceil_div(shared_.total(), std::max<Items>(piece, 1)) <= others;
}

Items Ledger::piece(DeviceIndex device) const {
  const Account& of = account(device);
  // Without `pipeline`: the largest possible piece.
  if (of.limit == 0 || of.pipeline == 0) return of.limit;
  return std::min(of.limit, std::max(of.pipeline, granularity_));
}

Items Ledger::in_flight(DeviceIndex device) const {
  Items items = 0;
  for (const Flight& flight : account(device).flights) items += flight.slice.size();
  return items;
}

}  // namespace mgpu
