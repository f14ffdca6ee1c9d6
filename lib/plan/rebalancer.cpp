#include "lib/plan/rebalancer.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/base/quantity.hpp"
#include "lib/base/stats.hpp"
#include "lib/plan/apportion.hpp"

namespace mgpu {
namespace {

constexpr double kWorthMoving = 0.02;  // fraction of an iteration; a smaller gain is noise
// A device that becomes slower is noticed within this many seconds, and no less than so many
// iterations. A point that moves nothing costs stencil on two H100 33 us, less than 0.1 % of it.
constexpr double kNoticedWithin = 50e-3;
constexpr std::uint32_t kLeastBetween = 8;
// Rate in bytes/s if no link is known: a copy through the host, which is the slowest path.
constexpr double kSlowestLink = 1e9;

// Returns the time to move `bytes` to device `to` from the others' memory, or through the host if
// the paths between devices are not known.
double seconds_to_move(double bytes, const PlanRequest& request, const std::vector<Items>& shares,
                       std::size_t to) {
  const PeerLinks& links = request.exchange.links;
  if (links.empty()) {
    const auto link = [](double rate) { return rate > 0 ? rate : kSlowestLink; };
    return bytes / link(request.devices[to].up) + bytes / link(request.devices[to].down);
  }
  double slowest = 0;
  for (std::size_t from = 0; from < shares.size(); ++from) {
    if (from == to || shares[from] == 0) continue;
    if (const double rate = links.of(from, to).bytes_per_s; rate > 0)
      slowest = std::max(slowest, bytes / rate);
  }
  return slowest;
}

}  // namespace

Rebalancer::Rebalancer(const PlanRequest& request, std::vector<Items> shares)
    : items_(request.items),
      granularity_(request.granularity),
      rounds_(request.rounds),
      shares_(std::move(shares)) {
  // Bytes of an item's state.
  const double item = std::max(request.cost.in_bytes, request.cost.out_bytes);
  for (std::size_t i = 0; i < shares_.size(); ++i) {
    fits_.push_back(shares_[i] > 0 ? request.devices[i].fits : 0);
    seconds_per_item_.push_back(seconds_to_move(item, request, shares_, i));
  }
}

std::optional<std::uint32_t> Rebalancer::next_rebalance(std::uint32_t after) {
  while (rebalance_ <= after && rebalance_ < rounds_) rebalance_ *= 2;
  if (rebalance_ >= rounds_) return std::nullopt;
  return rebalance_;
}

std::optional<std::vector<Items>> Rebalancer::meet(std::span<const std::vector<Nanos>> busy) {
  const std::uint32_t here = rebalance_, left = rounds_ - here;
  rebalance_ *= 2;
  std::vector<double> rates(shares_.size(), 0);
  double now = 0;
  Nanos longest_least{}, least_longest = Nanos::max();
  for (std::size_t i = 0; i < shares_.size(); ++i) {
    if (shares_[i] == 0) continue;
    const Summary of = summarise(busy[i]);
    if (of.median <= Nanos{}) return std::nullopt;  // a clock that shows nothing
    rates[i] = static_cast<double>(shares_[i]) / seconds(of.median);
    now = std::max(now, seconds(of.median));
    longest_least = std::max(longest_least, of.min);
    least_longest = std::min(least_longest, *std::max_element(busy[i].begin(), busy[i].end()));
  }
  if (const double between = kNoticedWithin / now; between < rebalance_ - here)
    rebalance_ =
        here + std::max(std::min(here, kLeastBetween), static_cast<std::uint32_t>(between));
  if (longest_least <= least_longest) return std::nullopt;  // noise
  std::vector<Items> shares;
  try {
    shares = apportion_within(items_, granularity_, rates, fits_);
  } catch (const Error&) {
    return std::nullopt;
  }
  double then = 0, moved = 0;
  Items begin = 0, begin_then = 0;
  for (std::size_t i = 0; i < shares_.size(); ++i) {
    if (shares_[i] > 0 && shares[i] == 0) return std::nullopt;  // a device with state keeps some
    const Items end = begin + shares_[i], end_then = begin_then + shares[i];
    const Items kept =
        std::min(end, end_then) - std::min(std::min(end, end_then), std::max(begin, begin_then));
    moved = std::max(moved, static_cast<double>(shares[i] - kept) * seconds_per_item_[i]);
    if (rates[i] > 0) then = std::max(then, static_cast<double>(shares[i]) / rates[i]);
    begin = end;
    begin_then = end_then;
  }
  if (shares == shares_ || now - then <= kWorthMoving * now || (now - then) * left <= moved)
    return std::nullopt;
  before_ = std::exchange(shares_, std::move(shares));
  return shares_;
}

void Rebalancer::keep() {
  shares_ = before_;
  rebalance_ = rounds_;
}

}  // namespace mgpu
