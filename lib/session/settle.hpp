// Suite options that are chosen only once devices are open.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>

#include "lib/session/group.hpp"

namespace mgpu {

// Returns the problem as resolve_with_devices completes it with the open devices of the set.
// Returns it unchanged if that is interrupted, or if it fails, which warns `observer`. `earlier`:
// the values of an unfinished run that this one continues, which apply then; null: there is none.
// Blocks.
Problem settled(const Problem& problem, Backend& backend, std::span<const SessionDevice> devices,
                std::optional<PeerPath> path, const std::map<std::string, std::string>* earlier,
                SessionObserver& observer);

}  // namespace mgpu
