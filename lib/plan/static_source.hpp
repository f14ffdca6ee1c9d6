// SliceSource of every strategy that decides shares beforehand: each device owns one contiguous
// range and is given it in pieces of its `pipeline`. Work of lost devices, and work that a device
// turns out not to be able to take, is shared by all others in shrinking pieces.
#pragma once

#include <memory>
#include <vector>

#include "lib/plan/slice_source.hpp"

namespace mgpu {

// Makes a source of these shares, one per device, in the order of the range; their sum is
// request.items. A device that can take nothing must have none.
std::unique_ptr<SliceSource> make_static_source(const PlanRequest& request,
                                                std::span<const Items> shares);

// Returns shares in proportion to the weights, each within one granule of the ideal. If results are
// combined along a tree, they may deviate further as far as that saves more of the merge
// (lib/plan/tree_cuts.hpp) than it costs. Devices that take no part (lib/plan/ledger.hpp,
// taking_part) count as weight 0, as do weights that are negative or no number; if that leaves no
// weight at all, the devices that take part share equally. All are 0 if there is no such device:
// the ledger of a source then reports why nothing can be planned.
std::vector<Items> shares_by_weight(const PlanRequest& request, std::vector<double> weights);

// Makes a static source with those shares. Throws Error(unsupported) if no device can take a
// granule.
std::unique_ptr<SliceSource> make_static_source_by_weight(const PlanRequest& request,
                                                          std::vector<double> weights);

}  // namespace mgpu
