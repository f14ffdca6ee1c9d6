// Cuts work that is more than a device wants at once into equal pieces, as many as its `pipeline`
// asks for. A small remainder at the end would cost a launch and overlap nothing, so the other
// pieces are longer instead.
#pragma once

#include <algorithm>

#include "lib/plan/ledger.hpp"

namespace mgpu {

constexpr Items kRemainder = 16;  // a remainder below 1/16 of a piece is not a piece of its own

constexpr Items pieces_of(Items items, Items piece) {
  return std::max<Items>(1, ceil_div(items - std::min(items, piece / kRemainder), piece));
}

// Returns the number of pieces for a device that can take a granule: more than the above if pieces
// would otherwise exceed its limit.
inline Items pieces_of(const Ledger& ledger, DeviceIndex device, Items items) {
  const Items granule = ledger.granularity();
  const auto whole = [granule](Items most) { return std::max(round_down(most, granule), granule); };
  return std::max(pieces_of(items, whole(ledger.piece(device))),
                  ceil_div(items, whole(ledger.limit(device))));
}

// Returns the size of the first piece.
inline Items even_piece(const Ledger& ledger, DeviceIndex device, Items items) {
  if (items <= ledger.piece(device)) return items;
  const Items pieces = pieces_of(ledger, device, items);
  return pieces == 1 ? items : round_up(ceil_div(items, pieces), ledger.granularity());
}

}  // namespace mgpu
