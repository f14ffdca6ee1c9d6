// Chooses the size of a problem for which none was given: large enough that its device is busy for
// a while, small enough for the host. It uses rates at the reference size and measures nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/predict/suite_rates.hpp"
#include "lib/workload/problem.hpp"

namespace mgpu {

// Limits of the size of a problem.
struct SizeLimits {
  // Time of a resident sample on the device that is fastest alone.
  Nanos aim = std::chrono::milliseconds(100);
  // Time of the operations on the device that is slowest alone.
  Nanos slowest = std::chrono::seconds(10);
  Bytes input = Bytes{4} << 30;
  Nanos host = std::chrono::seconds(4);  // time to prepare and to verify it
  Bytes host_memory = ~Bytes{0};
  std::size_t devices = 1;  // number of devices that it is to be split over
};

// Least number of granules per device that lets a split be uneven, or be taken piece by piece.
inline constexpr Items kLeastGranules = 8;

// A device that could solve the problem alone.
struct SizedDevice {
  SuiteRate rate;
  Bytes room = ~Bytes{0};  // for inputs and, separately, for results
  std::string name = {};   // for people
};

// Returns those of the devices that have a rate of the problem's suite with its options; none if
// the suite has no SuiteInfo::shape.
std::vector<SizedDevice> sized_devices(const Problem& problem, std::span<const Device> devices,
                                       const SuiteRates& rates);

// Returns the time of a problem of this size on the device that is fastest alone.
Nanos time_of_size(const Problem& like, std::uint64_t size, std::span<const SizedDevice> devices);

// Times of a problem that has its size, by rates alone; 0: not known.
struct RatedTimes {
  Nanos sample{};  // of a resident sample on the device alone
  Nanos host{};    // to prepare and to verify it
};
// Returns none if the suite has no SuiteInfo::shape.
std::optional<RatedTimes> rated_times(const Problem& problem, const SuiteRate& rate);

// Limit that prevents a problem from taking as long as `aim`.
enum class SizeLimit { none, input, host_time, host_memory, device_memory, slow_device };

struct ChosenSize {
  std::uint64_t size = 0;
  Nanos expected{};       // on the fastest device
  std::size_t fastest{};  // position of the fastest device
  SizeLimit limit = SizeLimit::none;
  // The size exceeds the limit, because it is the smallest that the suite supports and that can be
  // split.
  bool beyond = false;
  // The constant cost of a sample alone exceeds the aim, as if other programs had been measured:
  // the size is that of the operations alone.
  bool doubtful = false;
};

// Chooses, from the suite's grid (SuiteInfo::sizes_per_doubling), the size whose time is nearest to
// the aim within the limits, so that a slightly different rate gives the same size. The size of
// `like` is ignored. The chosen size has kLeastGranules per device, or as many as a size within the
// limits has, and its operations take the fastest device at least 50 us: smaller ones show only
// launches. If even the smallest such size exceeds a limit, it is chosen. Needs SuiteInfo::shape
// and a device. Throws what `check` throws for every size.
ChosenSize choose_size(const Problem& like, std::span<const SizedDevice> devices,
                       const SizeLimits& limits);

// Returns the smallest size of the suite's grid above `size` that it supports; `size` if there is
// none.
std::uint64_t next_size(const Problem& like, std::uint64_t size);

// Returns the first of `size`, twice that, and so on that has kLeastGranules per device; `size` if
// none up to 2^20 times that has, or the suite has no SuiteInfo::shape. Throws what `check` throws
// for `size`.
std::uint64_t size_to_split(const Problem& like, std::uint64_t size, std::size_t devices);

// Returns why devices get no work of the problem, which has its size: "1 item cannot be split over
// 2 devices", "300 items in granules of 128 are 3 pieces for 4 devices"; empty: each can have a
// granule, or the suite has no SuiteInfo::shape.
std::string too_few_pieces(const Problem& problem, std::size_t devices);

// Returns sizes of the grid up to `largest`, ascending, each with about four times the work of the
// previous one. The first is one whose operations take the fastest device 50 us, or the smallest
// that the suite supports.
std::vector<std::uint64_t> sweep_sizes(const Problem& like, std::span<const SizedDevice> devices,
                                       std::uint64_t largest);

}  // namespace mgpu
