#include "lib/session/peer_links.hpp"

#include <algorithm>

#include "lib/base/error.hpp"
#include "lib/session/link_matrix.hpp"

namespace mgpu {
namespace {

// Returns large copies, which exceed the caches of a GPU. With many pairs each is measured with
// less, as filling and comparing takes the host longer than the copies take the devices.
LinkAmounts amounts_in_short(LinkSet& set) {
  constexpr std::size_t kFew = 4;  // devices
  constexpr Bytes kLeast = Bytes{1} << 20;
  LinkAmounts amounts{set.size() <= kFew ? 64 * kLeast : 16 * kLeast, 2};
  if (set.any_cpu()) amounts = {set.size() <= kFew ? 16 * kLeast : 8 * kLeast, 1};
  for (const DeviceIndex device : set.all()) {
    while (amounts.piece > kLeast && (amounts.piece * 4 > set.device(device).free_memory() ||
                                      amounts.piece > set.traits(device).max_allocation))
      amounts.piece /= 2;
  }
  return amounts;
}

// Returns the rate of copies without their latency. Subtracts the latency of each copy, and once
// the isolated zero-byte latency, until the host observes completion.
double rate_beyond_latency(const RunRecord& moves, Nanos isolated, Nanos latency, unsigned pieces) {
  const Nanos whole = moves.time.median, copying = whole - isolated - latency * pieces;
  return moves.work.ops / 2 / seconds(std::max({copying, whole / 2, Nanos{1}}));
}

}  // namespace

PeerLinks measure_peer_links(Backend& backend, std::span<OpenDevice* const> devices) {
  const OwnedLinkSet owned = LinkSet::make(backend, {devices.begin(), devices.end()}, {});
  LinkSet& set = *owned;
  const LinkAmounts amounts = amounts_in_short(set);
  Report report;
  LinkMatrix matrix(set, amounts,
                    {.warmup = 3, .least = 5, .most = 20, .budget = std::chrono::milliseconds(15)},
                    true, report);
  matrix.fill();
  PeerLinks links(devices.size());
  for (const DeviceIndex one : set.all()) {
    for (const DeviceIndex other : set.all()) {
      if (!(one < other)) continue;
      const DeviceIndex pair[] = {one, other};
      matrix.transfer({one, other}, true);
      matrix.latency_of(pair);
      const RunRecord *moves = &report.runs.back() - 2, *isolated = moves + 1, *queued = moves + 2;
      if (moves->status != Status::ok) {
        throw Error(ErrorKind::device, "what " + set.traits(one).id + " and " +
                                           set.traits(other).id +
                                           " sent each other did not arrive as it was sent");
      }
      const Nanos latency = queued->time.median;
      const double rate =
          rate_beyond_latency(*moves, isolated->time.median, latency, amounts.pieces);
      links.of(one.value, other.value) = {set.peer(one).path(other), rate, latency};
      links.of(other.value, one.value) = {set.peer(other).path(one), rate, latency};
    }
  }
  return links;
}

}  // namespace mgpu
