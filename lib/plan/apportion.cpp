// Implements largest remainder apportionment of granules.
#include "lib/plan/apportion.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "lib/base/error.hpp"

namespace mgpu {
namespace {

// Has 64 bits of mantissa on machines that support it: quotas of very large ranges stay exact to a
// granule.
using Real = long double;

// Distributes `granules` by quota: the whole part of each quota, and one more to those with the
// largest remainders.
std::vector<Items> largest_remainder(Items granules, const std::vector<Real>& quotas) {
  std::vector<Items> shares(quotas.size());
  std::vector<Real> remainders(quotas.size());
  Items given = 0;
  for (std::size_t i = 0; i < quotas.size(); ++i) {
    // Rounded quotas may add up to slightly more than there are granules: never give out more.
    shares[i] = std::min(static_cast<Items>(std::floor(quotas[i])), granules - given);
    remainders[i] = quotas[i] - std::floor(quotas[i]);
    given += shares[i];
  }
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < quotas.size(); ++i) {
    if (quotas[i] > 0) order.push_back(i);
  }
  // Only the set with the largest remainders matters, not its order: sorting 1,024 took as long as
  // everything else here.
  const auto missing = static_cast<std::ptrdiff_t>(std::min<Items>(granules - given, order.size()));
  std::nth_element(order.begin(), order.begin() + missing, order.end(),
                   [&](std::size_t a, std::size_t b) {
                     return remainders[a] != remainders[b] ? remainders[a] > remainders[b] : a < b;
                   });
  for (std::size_t k = 0; given < granules; ++given, ++k) ++shares[order[k % order.size()]];
  return shares;
}

}  // namespace

std::vector<Items> apportion(Items items, Items granularity, std::span<const double> weights) {
  const auto is_weight = [](double w) { return std::isfinite(w) && w >= 0; };
  const double heaviest = weights.empty() ? 0 : *std::max_element(weights.begin(), weights.end());
  if (granularity == 0 || !std::all_of(weights.begin(), weights.end(), is_weight) ||
      heaviest <= 0) {
    throw Error(ErrorKind::internal,
                "apportion: needs a granularity and weights, none negative and not all zero");
  }
  const Items granules = items / granularity, remainder = items % granularity;
  if (granules == 0) {  // a piece that cannot be cut goes to the largest weight
    std::vector<Items> shares(weights.size());
    shares[static_cast<std::size_t>(std::max_element(weights.begin(), weights.end()) -
                                    weights.begin())] = items;
    return shares;
  }

  Real sum = 0;  // of weights relative to the heaviest, so that it cannot overflow
  for (const double w : weights) sum += Real{w} / heaviest;
  std::vector<Real> quotas;
  std::size_t last = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    quotas.push_back(static_cast<Real>(items) / granularity * (Real{weights[i]} / heaviest / sum));
    if (weights[i] > 0) last = i;
  }
  // The last device gets the remainder anyway, so it competes for granules only with the rest of
  // its quota. Otherwise it could end up almost two granules above its ideal.
  quotas[last] = std::max(Real{0}, quotas[last] - static_cast<Real>(remainder) / granularity);

  std::vector<Items> shares = largest_remainder(granules, quotas);
  for (Items& share : shares) share *= granularity;
  shares[last] += remainder;
  return shares;
}

std::vector<Items> apportion_within(Items items, Items granularity, std::span<const double> weights,
                                    std::span<const Items> caps) {
  // Counts in granules, of which the last may be a short one, so that its receiver is not above its
  // cap either.
  const Items granules = items / granularity + (items % granularity != 0 ? 1 : 0);
  std::vector<Items> room;
  for (const Items cap : caps) room.push_back(cap >= items ? granules : cap / granularity);
  std::vector<Items> shares(weights.size(), 0);
  std::vector<double> open(weights.begin(), weights.end());
  Items left = granules;
  while (left > 0) {
    for (std::size_t i = 0; i < open.size(); ++i) {
      if (room[i] == 0) open[i] = 0;
    }
    if (std::none_of(open.begin(), open.end(), [](double w) { return w > 0; })) {
      for (std::size_t i = 0; i < open.size(); ++i) open[i] = static_cast<double>(room[i]);
    }
    const std::vector<Items> wanted = apportion(left, 1, open);
    // Devices that would exceed their caps are filled first: what they cannot take changes the
    // shares of all others.
    const bool over = !std::equal(wanted.begin(), wanted.end(), room.begin(),
                                  [](Items want, Items most) { return want <= most; });
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (over && wanted[i] <= room[i]) continue;
      const Items given = std::min(wanted[i], room[i]);
      shares[i] += given;
      room[i] -= given;
      left -= given;
    }
  }
  for (Items& share : shares) share *= granularity;
  const auto last =
      std::find_if(shares.rbegin(), shares.rend(), [](Items share) { return share > 0; });
  if (last != shares.rend()) *last -= granules * granularity - items;
  return shares;
}

}  // namespace mgpu
