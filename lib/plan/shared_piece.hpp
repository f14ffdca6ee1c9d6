// The size of a piece of work that came back: from a lost device, or one that took less than it
// said.
#pragma once

#include "lib/plan/ledger.hpp"

namespace mgpu {

// Guided self-scheduling (Polychronopoulos and Kuck, 1987) at a quarter of an even share: nobody
// knows how far along the others are with their own work, and the last pieces are small whoever
// takes them.
inline Items shared_piece(const Ledger& ledger, DeviceIndex device) {
  const Items even = ledger.shared() / (4 * std::max<std::size_t>(ledger.able(), 1));
  return std::min(ledger.piece(device),
                  std::max(round_up(even, ledger.granularity()), ledger.granularity()));
}

}  // namespace mgpu
