#include "lib/report/shares.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lib/report/fault_words.hpp"

namespace mgpu {

namespace {

Items sum_of(std::span<const DeviceShare> shares) {
  Items sum = 0;
  for (const DeviceShare& share : shares) sum += share.items;
  return sum;
}

std::string percent(Items items, Items all) {
  const double exact = 100 * static_cast<double>(items) / static_cast<double>(all);
  if (items > 0 && exact < 0.5) return "<1";
  if (items < all && exact >= 99.5) return ">99";
  return fmt::format("{:.0f}", exact);
}

// Returns the least and the most percent: "12-13", or "12" if both are the same.
std::string range(std::span<const DeviceShare> shares, Items all) {
  const auto [least, most] = std::minmax_element(
      shares.begin(), shares.end(),
      [](const DeviceShare& a, const DeviceShare& b) { return a.items < b.items; });
  const std::string low = percent(least->items, all), high = percent(most->items, all);
  return low == high ? low : low + "-" + high;
}

}  // namespace

std::vector<DeviceShare> shares_of(const RunRecord& run) {
  std::vector<DeviceShare> shares;
  for (const PerDevice& p : run.per_device) shares.push_back({p.device, p.parts.items});
  return shares;
}

std::string shares_text(std::span<const DeviceShare> shares, std::size_t most) {
  const Items all = sum_of(shares);
  if (all == 0) return "-";
  if (shares.size() > most) return range(shares, all);
  std::string text;
  for (const DeviceShare& share : shares)
    text += (text.empty() ? "" : "/") + percent(share.items, all);
  return text;
}

std::string share_percent(std::span<const DeviceShare> shares, std::size_t device) {
  const Items all = sum_of(shares);
  return all == 0 ? "-" : percent(shares[device].items, all);
}

std::string split_sentence(std::span<const DeviceShare> shares, const ItemUnit& unit) {
  std::vector<DeviceShare> working(shares.begin(), shares.end());
  std::erase_if(working, [](const DeviceShare& share) { return share.items == 0; });
  const Items all = sum_of(working);
  if (all == 0) return "";
  const std::uint64_t count = unit.count > 0 ? unit.count : all;
  const std::string whole =
      fmt::format("{} {}", grouped(count), unit.name.empty() ? "items" : unit.name);
  if (working.size() == 1) return fmt::format("Give {} all {}.", working[0].device, whole);
  if (working.size() > kMostNamed)
    return fmt::format("Give each of {} devices {} % of {}.", working.size(), range(working, all),
                       whole);
  std::string words;
  for (std::size_t k = 0; k + 1 < working.size(); ++k) {
    const auto part = static_cast<std::uint64_t>(
        std::llround(static_cast<double>(working[k].items) / static_cast<double>(all) *
                     static_cast<double>(count)));
    words +=
        fmt::format("{}{} {}{} ({} %)", words.empty() ? "" : ", ", working[k].device, grouped(part),
                    words.empty() ? " of " + whole : "", percent(working[k].items, all));
  }
  return fmt::format("Give {} and {} the rest.", words, working.back().device);
}

}  // namespace mgpu
