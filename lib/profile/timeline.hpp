// Timeline: what every device did during one sample, in host nanoseconds since the sample began.
// Pure data and pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/name.hpp"
#include "lib/base/units.hpp"
#include "lib/device/peer_links.hpp"

namespace mgpu {

// exchange: moves data to another device, or waits for one, in order with kernels.
enum class CommandKind { upload, compute, download, exchange };
const char* to_string(CommandKind kind);

// Of a command of kind exchange.
struct ExchangeInfo {
  DeviceIndex peer;  // the other device
  PeerPath path = PeerPath::direct;
  bool arrives =
      false;  // false: data goes to `peer`; true: it comes from there, or its signal is awaited
  bool operator==(const ExchangeInfo&) const = default;
};

// Where a command belongs: a slice's number on its device (0, 1, ...), or one of these.
inline constexpr std::int32_t kPrepare = -1, kCollect = -2, kMerge = -3;

struct Command {
  DeviceIndex device;
  CommandKind kind = CommandKind::compute;
  std::int32_t slice = 0;
  Name label;       // kernel name; empty for transfers
  Bytes bytes = 0;  // of a transfer or an exchange
  Nanos queued{}, submitted{}, started{}, ended{};
  std::optional<ExchangeInfo> exchange{};
  // That it is of, from 0, the first where one launch does several; none where work has no rounds,
  // and before and after them.
  std::optional<std::uint32_t> round{};
};

// What a device's worker was doing, by the host clock.
enum class HostState {
  in_flight,  // commands enqueued and not all known to be complete
  sync,       // nothing to do until others finish or the merge is done
  idle,       // no slice in flight and not waiting for anyone: deciding
  waking,     // the sample has begun, and the operating system has not let the worker run yet
};
const char* to_string(HostState state);

struct HostSpan {
  DeviceIndex device;
  HostState state = HostState::idle;
  Nanos begin{}, end{};
};

struct SliceRecord {  // who took what, in the order each device finished
  DeviceIndex device;
  std::int32_t slice = 0;
  Items begin = 0, end = 0;
  Nanos enqueued{}, finished{};  // host clock
};

// Stamps of commands further than this from the sample's begin, which only a broken clock gives,
// are held here: differences of any two fit.
inline constexpr Nanos kFarthest{std::int64_t{1} << 61};

struct Timeline {
  std::size_t devices = 0;
  Nanos makespan{};                // first submit to merged result
  std::vector<Nanos> uncertainty;  // of each device's clock map, by which its commands lie where
                                   // they do; empty: not known
  Nanos merge_begin{},
      merge_end{};  // the merge, on the host or on a device; equal when there was nothing to merge
  std::optional<DeviceIndex> merged_on;  // none: the host
  std::vector<Command> commands;         // in order of start
  std::vector<HostSpan> spans;           // per device: disjoint, in order
  std::vector<SliceRecord> slices;
};

}  // namespace mgpu
