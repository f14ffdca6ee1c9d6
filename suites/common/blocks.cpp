#include "suites/common/blocks.hpp"

#include "lib/base/add_once.hpp"

namespace mgpu {
namespace {

Patch common_part(const Patch& a, const Patch& b) {
  return {std::max(a.first, b.first), std::min(a.end, b.end), std::max(a.left, b.left),
          std::min(a.right, b.right)};
}

}  // namespace

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
    if (patch.empty()) continue;  // happens with more columns than cells
    if (!patches.empty() && patches.back().first == patch.first &&
        patches.back().end == patch.end) {
      patches.back().right = patch.right;  // adjacent whole columns are one patch
    } else {
      patches.push_back(patch);
    }
  }
  return patches;
}

std::vector<Transfer> transfers_among(
    const PiecesOfLayers& pieces, std::span<const Owner> owners,
    const std::function<std::vector<std::pair<Patch, std::uint32_t>>(const Patch&)>& wanted,
    const std::function<std::uint64_t(const Transfer&)>& numbers) {
  std::vector<Transfer> all;
  for (const Owner& to : owners) {
    std::uint64_t landing = 0;
    for (const Owner& from : owners) {
      if (&from == &to) continue;
      for (const Patch& mine : patches_of(pieces, to.items)) {
        for (const auto& [needed, which] : wanted(mine)) {
          for (const Patch& theirs : patches_of(pieces, from.items)) {
            const Patch patch = common_part(needed, theirs);
            if (patch.empty()) continue;
            Transfer& transfer = all.emplace_back(Transfer{from.device, to.device, patch, which});
            transfer.numbers = numbers(transfer);
            if (transfer.numbers > 0) transfer.landing = landing;
            landing += transfer.numbers;
          }
        }
      }
    }
  }
  return all;
}

std::vector<DeviceIndex> BlockExchange::settle(std::span<const Transfer> all, DeviceIndex self) {
  sends_.clear();
  takes_.clear();
  std::vector<DeviceIndex> others;
  for (const Transfer& each : all) {
    if (each.from == self) sends_.push_back(each);
    if (each.to != self) continue;
    takes_.push_back(each);
    add_once(others, each.from);
  }
  return others;
}

}  // namespace mgpu
