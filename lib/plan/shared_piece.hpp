// Size of a piece of work that came back: from a lost device, or from one that can take less than
// it reported.
#pragma once

#include "lib/plan/ledger.hpp"

namespace mgpu {

// Returns the next piece, by guided self-scheduling (Polychronopoulos and Kuck, 1987) at a quarter
// of an even share: it is unknown how far the devices are with their own work, and the last pieces
// are small whichever device takes them.
inline Items shared_piece(const Ledger& ledger, DeviceIndex device) {
  const Items even = ledger.shared() / (4 * std::max<std::size_t>(ledger.able(), 1));
  return std::min(ledger.piece(device),
                  std::max(round_up(even, ledger.granularity()), ledger.granularity()));
}

}  // namespace mgpu
