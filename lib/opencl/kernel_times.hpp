// What kernels took when they were last seen, by what was launched: how long one will take, before
// it has run. Pure bookkeeping.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>

#include "lib/base/units.hpp"
#include "lib/workload/stream.hpp"

namespace mgpu {

// Hashes of a launch: `kernel` of that and the work-group's size, `alike` of the grid too, `exact`
// of the plain arguments too. Slices of one size differ in their offsets.
struct LaunchKey {
  std::uint64_t kernel = 0, alike = 0, exact = 0;
  std::uint64_t work_items = 0;
};

LaunchKey launch_key(const std::string& kernel, const Grid& grid, std::span<const KernelArg> args);
inline LaunchKey launch_key(const std::string& kernel, const Grid& grid,
                            std::initializer_list<KernelArg> args) {
  return launch_key(kernel, grid, std::span<const KernelArg>(args.begin(), args.size()));
}

class KernelTimes {
 public:
  void saw(const LaunchKey& key, Nanos took);
  // Of that very launch, else of one with other arguments, else by the work-items from the launch
  // of that kernel whose grid was nearest to it, at most twice as large or small; nothing where
  // there was none.
  std::optional<Nanos> expected(const LaunchKey& key) const;

 private:
  static constexpr std::size_t kMost = 1 << 16;  // offsets are many: 3 MB
  std::unordered_map<std::uint64_t, Nanos> times_;
  std::unordered_map<std::uint64_t, std::map<std::uint64_t, Nanos>>
      by_work_items_;  // of each kernel
};

}  // namespace mgpu
