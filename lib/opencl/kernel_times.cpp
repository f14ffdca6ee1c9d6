#include "lib/opencl/kernel_times.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <type_traits>

namespace mgpu {
namespace {

void mix(std::uint64_t& hash, std::uint64_t value) {
  hash = (hash ^ value ^ hash >> 29) * 0x9e3779b97f4a7c15u;
}

}  // namespace

LaunchKey launch_key(const std::string& kernel, const Grid& grid, std::span<const KernelArg> args) {
  LaunchKey key{std::hash<std::string>{}(kernel), 0, 0, 1};
  for (const std::size_t size : grid.local) mix(key.kernel, size);
  key.alike = key.kernel;
  for (const std::size_t size : grid.global) {
    mix(key.alike, size);
    key.work_items *= size;
  }
  key.exact = key.alike;
  for (const KernelArg& arg : args) {
    std::visit(
        [&](const auto& value) {
          if constexpr (std::is_integral_v<std::decay_t<decltype(value)>>)
            mix(key.exact, static_cast<std::uint64_t>(value));
        },
        arg);
  }
  return key;
}

void KernelTimes::saw(const LaunchKey& key, Nanos took) {
  if (times_.size() > kMost) {
    times_.clear();
    by_work_items_.clear();
  }
  times_[key.alike] = times_[key.exact] = by_work_items_[key.kernel][key.work_items] = took;
}

std::optional<Nanos> KernelTimes::expected(const LaunchKey& key) const {
  for (const std::uint64_t hash : {key.exact, key.alike}) {
    if (const auto found = times_.find(hash); found != times_.end()) return found->second;
  }
  const auto kernel = by_work_items_.find(key.kernel);
  if (kernel == by_work_items_.end()) return {};
  double nearest = 2;
  std::optional<Nanos> took;
  const auto look = [&](const std::pair<const std::uint64_t, Nanos>& seen) {
    const double times_as_many =
        static_cast<double>(key.work_items) / static_cast<double>(seen.first);
    if (const double apart = std::max(times_as_many, 1 / times_as_many); apart <= nearest) {
      nearest = apart;
      took = Nanos{std::llround(static_cast<double>(seen.second.count()) * times_as_many)};
    }
  };
  const auto above = kernel->second.lower_bound(key.work_items);
  if (above != kernel->second.end()) look(*above);
  if (above != kernel->second.begin()) look(*std::prev(above));
  return took;
}

}  // namespace mgpu
