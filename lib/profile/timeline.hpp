// Timeline: everything that devices did during one sample, in host nanoseconds since the sample
// began. Pure data and pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/name.hpp"
#include "lib/base/units.hpp"
#include "lib/device/peer_links.hpp"

namespace mgpu {

// Kinds of commands. exchange: moves data to another device, or waits for one, in order with
// kernels.
enum class CommandKind { upload, compute, download, exchange };
const char* to_string(CommandKind kind);
// Label of an upload that copied nothing: kernels read the host's memory in place.
inline constexpr std::string_view kInPlace = "in place";

// Details of a command of kind exchange.
struct ExchangeInfo {
  DeviceIndex peer;  // the other device
  PeerPath path = PeerPath::direct;
  // False: data goes to `peer`; true: it comes from there, or its signal is awaited.
  bool arrives = false;
  bool operator==(const ExchangeInfo&) const = default;
};

// Special values of a command's `slice`, which otherwise is the number of a slice on its device (0,
// 1, ...).
inline constexpr std::int32_t kPrepare = -1, kCollect = -2, kMerge = -3;

struct Command {
  DeviceIndex device;
  CommandKind kind = CommandKind::compute;
  std::int32_t slice = 0;
  Name label;       // kernel name; empty for transfers, or kInPlace
  Bytes bytes = 0;  // size of a transfer or exchange
  Nanos queued{}, submitted{}, started{}, ended{};
  std::optional<ExchangeInfo> exchange{};
  // The iteration it belongs to, from 0; if one launch does several, the first. None for work that
  // is not iterative, and for commands before and after the iterations.
  std::optional<std::uint32_t> round{};
};

// States of a device's worker, by the host clock.
enum class HostState {
  in_flight,  // commands enqueued and not all known to be complete
  sync,       // nothing to do until others finish or the merge is done
  idle,       // no slice in flight and not waiting for others: deciding
  waking,     // the sample has begun, but the operating system has not scheduled the worker yet
};
const char* to_string(HostState state);

struct HostSpan {
  DeviceIndex device;
  HostState state = HostState::idle;
  Nanos begin{}, end{};
};

// A slice that a device took; in the order in which each device finished.
struct SliceRecord {
  DeviceIndex device;
  std::int32_t slice = 0;
  Items begin = 0, end = 0;
  Nanos enqueued{}, finished{};  // host clock
};

// Stamps of commands further than this from the sample's begin, which only a broken clock gives,
// are clamped here, so that the difference of any two fits.
inline constexpr Nanos kFarthest{std::int64_t{1} << 61};

struct Timeline {
  std::size_t devices = 0;
  Nanos makespan{};  // from first submit to merged result
  // Uncertainty of each device's clock map, which places its commands; empty: unknown.
  std::vector<Nanos> uncertainty;
  // The merge, on the host or on a device; equal if there was nothing to merge.
  Nanos merge_begin{}, merge_end{};
  std::optional<DeviceIndex> merged_on;  // none: the host
  std::vector<Command> commands;         // sorted by start
  std::vector<HostSpan> spans;           // per device: disjoint, in order
  std::vector<SliceRecord> slices;
};

}  // namespace mgpu
