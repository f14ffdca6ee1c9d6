// The split of a problem in words: which device gets how much. The same in tables, sentences and
// plans. Pure.
#pragma once

#include <span>
#include <string>

#include "lib/plan/slice_source.hpp"
#include "lib/report/record.hpp"

namespace mgpu {

struct DeviceShare {
  std::string device;  // its id
  Items items = 0;
};
// Returns the shares of the sample that the record shows, in the order of its devices.
std::vector<DeviceShare> shares_of(const RunRecord& run);

// Most devices whose shares are named one by one.
inline constexpr std::size_t kMostNamed = 4;
// Returns the percent of each device, "75/25", of up to `most`; of more "12-13", the least and the
// most. A share that rounds to 0 or 100 but is not is "<1" or ">99". "-" if there are no items.
std::string shares_text(std::span<const DeviceShare> shares, std::size_t most = kMostNamed);

// Returns the percent of one device.
std::string share_percent(std::span<const DeviceShare> shares, std::size_t device);

// Returns "Give 0:0.0 196,608 of 262,144 leaves (75 %) and 0:0.1 the rest." Leaves out devices
// without a share; names up to four. Empty if there are no items.
std::string split_sentence(std::span<const DeviceShare> shares, const ItemUnit& unit);

}  // namespace mgpu
