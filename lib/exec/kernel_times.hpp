// What kernels took when they were last seen, by what was launched: how long one will take, before it has run. Pure bookkeeping.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>

#include "lib/base/units.hpp"
#include "lib/workload/stream.hpp"

namespace mgpu {

// Hashes of a launch: `alike` of kernel and grid, `exact` of the plain arguments too. Slices of one size differ in their offsets.
struct LaunchKey {
  std::uint64_t alike = 0, exact = 0;
};

LaunchKey launch_key(const std::string& kernel, const Grid& grid, std::span<const KernelArg> args);
inline LaunchKey launch_key(const std::string& kernel, const Grid& grid, std::initializer_list<KernelArg> args) {
  return launch_key(kernel, grid, std::span<const KernelArg>(args.begin(), args.size()));
}

class KernelTimes {
 public:
  void saw(const LaunchKey& key, Nanos took) {
    if (times_.size() > kMost) times_.clear();
    times_[key.alike] = times_[key.exact] = took;
  }
  // Of that very launch, else of one with other arguments; nothing for a kernel or grid that has not run.
  std::optional<Nanos> expected(const LaunchKey& key) const {
    for (const std::uint64_t hash : {key.exact, key.alike}) {
      if (const auto found = times_.find(hash); found != times_.end()) return found->second;
    }
    return {};
  }

 private:
  static constexpr std::size_t kMost = 1 << 16;  // offsets are many: 3 MB
  std::unordered_map<std::uint64_t, Nanos> times_;
};

}  // namespace mgpu
