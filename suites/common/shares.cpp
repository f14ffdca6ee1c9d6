#include "suites/common/shares.hpp"

#include <algorithm>

namespace mgpu {

const Owner* owner_of(std::span<const Owner> owners, const Slice& share) {
  const auto found = std::find_if(owners.begin(), owners.end(),
                                  [&](const Owner& owner) { return owner.items == share; });
  return owners.size() < 2 || found == owners.end() ? nullptr : &*found;
}

std::vector<DeviceIndex> Neighbours::devices() const {
  std::vector<DeviceIndex> all;
  if (before != nullptr) all.push_back(before->device);
  if (after != nullptr && (all.empty() || after->device != all.front()))
    all.push_back(after->device);
  return all;
}

Neighbours neighbours_of(std::span<const Owner> owners, const Slice& share, bool periodic) {
  const Owner* const mine = owner_of(owners, share);
  if (mine == nullptr) return {};
  const Owner *const first = &owners.front(), *const last = &owners.back();
  return {mine != first ? mine - 1
          : periodic    ? last
                        : nullptr,
          mine != last ? mine + 1
          : periodic   ? first
                       : nullptr};
}

Patch common_part(const Patch& a, const Patch& b) {
  return {std::max(a.first, b.first), std::min(a.end, b.end), std::max(a.left, b.left),
          std::min(a.right, b.right)};
}

std::uint64_t columns_for(std::size_t devices) {
  for (std::uint64_t columns = 1; columns < devices; ++columns)
    if (devices % columns == 0 && columns * columns >= devices) return columns;
  return std::max<std::uint64_t>(devices, 1);
}

std::vector<Patch> patches_of(const PiecesOfLayers& pieces, const Slice& items) {
  const std::uint64_t layers = pieces.layers;
  std::vector<Patch> patches;
  for (std::uint64_t column = items.begin / layers; column * layers < items.end; ++column) {
    const std::uint64_t begin = column * layers;
    const Patch patch{
        std::max(items.begin, begin) - begin, std::min(items.end, begin + layers) - begin,
        column * pieces.width / pieces.columns, (column + 1) * pieces.width / pieces.columns};
    if (patch.empty()) continue;  // there are more columns than cells
    if (!patches.empty() && patches.back().first == patch.first &&
        patches.back().end == patch.end) {
      patches.back().right = patch.right;  // whole columns side by side are one patch
    } else {
      patches.push_back(patch);
    }
  }
  return patches;
}

}  // namespace mgpu
