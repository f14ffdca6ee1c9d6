// Times that kernels took when they ran last, by what was launched: they predict how long a launch
// will take. Pure bookkeeping.
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

// Hashes of a launch: `kernel` of the kernel and the work-group size, `alike` of the grid too,
// `exact` of the plain arguments too. Slices of one size differ in their offsets.
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
  // Returns the time of that very launch; else of one with other arguments; else of the launch of
  // that kernel whose grid was nearest in size (at most twice as large or small), scaled by the
  // work-items; nothing if there was none.
  std::optional<Nanos> expected(const LaunchKey& key) const;

 private:
  static constexpr std::size_t kMost = 1 << 16;  // offsets are many; 3 MB
  std::unordered_map<std::uint64_t, Nanos> times_;
  // Times of each kernel by its number of work-items.
  std::unordered_map<std::uint64_t, std::map<std::uint64_t, Nanos>> by_work_items_;
};

}  // namespace mgpu
