// Kernel variants and the work-groups and local memory of a device: which variant it can run, and
// the sentence for a device that can run none.
#pragma once

#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/base/error.hpp"
#include "lib/workload/stream.hpp"

namespace mgpu {

// Holds what a variant needs: work-items of a work-group, and its local memory.
struct GroupDemand {
  std::size_t items = 1;
  Bytes local = 0;
};

// Returns the device as if its work-groups had no limits. Variants for it are all variants.
inline DeviceTraits without_limits(DeviceTraits device) {
  device.max_work_group = std::numeric_limits<std::size_t>::max();
  device.local_memory = std::numeric_limits<Bytes>::max();
  return device;
}

// Returns why a device runs no variant, with the smallest demand of all of them; there is at least
// one.
std::string why_none_suits(const DeviceTraits& device, std::span<const GroupDemand> demands);

// Returns `wanted`, its half, its quarter and so on down to 1.
std::vector<std::size_t> halves_of(std::size_t wanted);

// Returns make(candidate) of the first candidate that suits the device, that is for which make()
// does not throw Error(unsupported). Throws the Error of the last one if none does.
template <class Candidates, class Make>
auto make_first_suited(const Candidates& candidates, const Make& make) {
  std::optional<Error> why;
  for (const auto& candidate : candidates) {
    try {
      return make(candidate);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::unsupported) throw;
      why = error;
    }
  }
  throw why ? *why : Error(ErrorKind::unsupported, "no kernel is made for it");
}

}  // namespace mgpu
