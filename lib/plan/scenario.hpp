// Scenario: devices and a piece of work that need not exist, as a file states them or as an earlier run estimated them. Plain data:
// reading files is in lib/report, running it in lib/exec.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/device/device.hpp"
#include "lib/plan/slice_source.hpp"

namespace mgpu {

struct ScenarioDevice {
  std::string name;
  DeviceType type = DeviceType::gpu;
  DeviceEstimate estimate;  // what strategies are given. `fits`, `pipeline` 0: as its memory and the work allow
  double slow = 1;          // its kernels take this many times as long as it tells
  Bytes memory = 0;         // 0: enough for anything
};

struct ScenarioWork {
  std::string name;  // of the suite it stands for; may be empty
  std::string rate_unit = "items/s";
  Items items = 0, granularity = 1;
  ItemCost cost{0, 0, 1, 0};
  Items pipeline = 0;  // the piece a static share is handed out in; 0: an eighth of an equal share
  // Above 0: it goes in rounds, in all of which an item costs what is stated; devices exchange ExchangeEstimate::halo after as many
  // as ExchangeEstimate::rounds says, but not after the last.
  std::uint32_t rounds = 0;
  MergeEstimate merge;
};

struct Scenario {
  std::vector<ScenarioDevice> devices;
  LinkRate link_up, link_down;  // of the host link all share
  ScenarioWork work;
  ExchangeEstimate exchange;  // what devices exchange, where their paths are direct or as `peer` says
  std::optional<PeerPath> peer;
  std::optional<SetEstimates> given;  // what strategies are given; none: how the devices are, but for `slow`
};

// More devices, up to `devices`: those beyond are like the last one, and so are the links to them. The host link stays as it is: how
// many devices use it at once is what it is known for. A set that is no smaller stays.
void grow(Scenario& scenario, std::size_t devices);

// More are refused: each device alone is a case of every session.
inline constexpr std::size_t kMostScenarioDevices = 4096;
// With links between them: all send something to all others.
inline constexpr std::size_t kMostLinkedDevices = 128;

}  // namespace mgpu
