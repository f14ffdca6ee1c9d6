// The size of a problem for which none was given: large enough that its device is busy for a while,
// small enough for the host. From rates at the reference size; nothing is measured here.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lib/predict/suite_rates.hpp"
#include "lib/workload/problem.hpp"

namespace mgpu {

// What a problem may ask for.
struct SizeLimits {
  Nanos aim =
      std::chrono::milliseconds(100);  // of a resident sample on the device that is fastest alone
  Bytes input = Bytes{4} << 30;
  Nanos host = std::chrono::seconds(10);  // to prepare and to verify it
  Bytes host_memory = ~Bytes{0};
  std::size_t devices = 1;  // that it is to be split over: a granule for each at least
};

// A device that could solve it alone.
struct SizedDevice {
  SuiteRate rate;
  Bytes room = ~Bytes{0};  // for inputs, and likewise for results
  std::string name = {};   // for people
};

// Those of the devices that have a rate of the problem's suite with its options; none where the
// suite has no SuiteInfo::shape.
std::vector<SizedDevice> sized_devices(const Problem& problem, std::span<const Device> devices,
                                       const SuiteRates& rates);

// What prevents a problem from taking as long as `aim`.
enum class SizeLimit { none, input, host_time, host_memory, device_memory };

struct ChosenSize {
  std::uint64_t size = 0;
  Nanos expected{};       // on that device
  std::size_t fastest{};  // which of the devices that is
  SizeLimit limit = SizeLimit::none;
  bool beyond = false;    // that limit, as it is the smallest size that the suite does and that can
                          // be split
  bool doubtful = false;  // what every sample costs, whatever the size, is beyond the aim alone
};

// Of the suite's grid (SuiteInfo::sizes_per_doubling) the size whose time comes nearest to the aim
// within the limits, so that a rate that comes out a little differently gives the same size. Of
// `like` everything counts but its size. No smaller than what can be split over the devices and
// takes the fastest of them 50 us besides what every sample costs: less shows launches only. The
// smallest such where even that is beyond a limit. Needs SuiteInfo::shape and a device. Throws what
// `check` throws of every size.
ChosenSize choose_size(const Problem& like, std::span<const SizedDevice> devices,
                       const SizeLimits& limits);

// Sizes of the grid up to `largest`, each about four times the work of the one before: from one
// whose operations take the fastest device 50 us, or the smallest that the suite does. Ascending.
std::vector<std::uint64_t> sweep_sizes(const Problem& like, std::span<const SizedDevice> devices,
                                       std::uint64_t largest);

}  // namespace mgpu
