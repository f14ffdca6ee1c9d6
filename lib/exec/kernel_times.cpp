#include "lib/exec/kernel_times.hpp"

#include <functional>
#include <type_traits>

namespace mgpu {
namespace {

void mix(std::uint64_t& hash, std::uint64_t value) { hash = (hash ^ value ^ hash >> 29) * 0x9e3779b97f4a7c15u; }

}  // namespace

LaunchKey launch_key(const std::string& kernel, const Grid& grid, std::span<const KernelArg> args) {
  LaunchKey key{std::hash<std::string>{}(kernel), 0};
  for (const std::size_t size : grid.global) mix(key.alike, size);
  for (const std::size_t size : grid.local) mix(key.alike, size);
  key.exact = key.alike;
  for (const KernelArg& arg : args) {
    std::visit(
        [&](const auto& value) {
          if constexpr (std::is_integral_v<std::decay_t<decltype(value)>>) mix(key.exact, static_cast<std::uint64_t>(value));
        },
        arg);
  }
  return key;
}

}  // namespace mgpu
