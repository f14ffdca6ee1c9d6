// What a suite's options leave open until devices are there.
#pragma once

#include <optional>
#include <span>

#include "lib/session/group.hpp"

namespace mgpu {

// The problem as SuiteInfo::settle makes it, with those of the devices that are open; as it is where nothing is open, or where that
// fails, of which `observer` is warned. Blocks. Throws Error(interrupted).
Problem settled(const Problem& problem, Backend& backend, std::span<const SessionDevice> devices, std::optional<PeerPath> path,
                SessionObserver& observer);

}  // namespace mgpu
