// What a suite's options leave open until devices are there.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>

#include "lib/session/group.hpp"

namespace mgpu {

// The problem as resolve_with_devices makes it, with those of the devices that are open; as it is
// where nothing is open, or where that fails, of which `observer` is warned, or is interrupted.
// `earlier`: what was settled in a run that this one goes on with, which then holds; null: in none.
// Blocks.
Problem settled(const Problem& problem, Backend& backend, std::span<const SessionDevice> devices,
                std::optional<PeerPath> path, const std::map<std::string, std::string>* earlier,
                SessionObserver& observer);

}  // namespace mgpu
