// SliceSource: the interface between the strategy, which decides which device gets which items, and
// what runs it: the executor and the simulator drive the same SliceSource. Pure: no clock, no
// thread, no device handle.
#pragma once

#include <algorithm>
#include <compare>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "lib/base/units.hpp"
#include "lib/device/link_rate.hpp"
#include "lib/device/peer_links.hpp"
#include "lib/plan/mode.hpp"
#include "lib/plan/network.hpp"

namespace mgpu {

// A contiguous range of items that a device takes at once: [begin, end).
struct Slice {
  Items begin = 0, end = 0;
  constexpr Items size() const { return end - begin; }
  constexpr auto operator<=>(const Slice&) const = default;
};

// Cost of an item, for strategies that weigh transfers against compute.
struct ItemCost {
  double in_bytes = 0, out_bytes = 0, ops = 0;  // per item
  Bytes replicated = 0;  // bytes that every device that takes part needs: sent whole, or gathered
};

// Unit in which a user counts the items of a problem: 1,024 items may be 262,144 leaves.
struct ItemUnit {
  std::string name;         // a plural; empty: items
  std::uint64_t count = 0;  // in the whole problem; 0: as many as items
};

// Estimate of one device, as given to a strategy. A slice of k items takes transfer + k * in_bytes
// / up in its upload queue; launch + k / items_per_s, but at least `minimum_slice`, in its compute
// queue, and `first_slice_discount` less for the first slice of a sample; and transfer + k *
// out_bytes / down in its download queue. Resident samples only compute. Rates are those of the
// device while the others of the set also work. 0: not known.
struct DeviceEstimate {
  double items_per_s = 0;  // marginal rate of kernels alone, without transfers
  double score = 0;        // the static score, 0-100
  Nanos fixed{};           // per sample in which all take part: first submit, collect
  // Part of `fixed` per other device: host threads wait for each other.
  Nanos per_peer_contention{};
  // Part of `fixed` of which each of m devices that exchange data does one m-th.
  Nanos fixed_shared{};
  Nanos launch{};         // time per slice that does not shrink with its size
  Nanos minimum_slice{};  // least time of a slice, which leaves part of the device idle
  // Part of `launch` that a sample's first slice does not have: the cost of adjacent slices (a wave
  // that is not full).
  Nanos first_slice_discount{};
  Nanos transfer{};         // time per slice and direction that does not shrink with its size
  double up = 0, down = 0;  // bytes/s of its own link
  Items fits = 0;           // largest slice that it can take at once; a source never offers more
  // Size of the pieces of a static share, so that transfers overlap compute; a piece may also have
  // a small remainder. At most `fits`.
  Items pipeline = 0;
  Bytes free_memory = 0;  // free memory of the device before this problem's buffers are allocated
  // Whether it computes on cores that host threads also need, which then enqueue its next commands
  // late.
  bool on_cpu = false;
  bool reserve = false;           // a fall-back: given work only if no other device is left
  double idle_w = 0, busy_w = 0;  // power of this work; 0: not known
};

// Quantity of which the automatic choice predicts least: the time, the energy of the devices that
// it uses, or the product of both.
enum class Objective { time, energy, edp };

// Cost of combining the devices' results on the host. Adjacent slices of one device are combined
// there and make one part; if there is only one part, nothing is left to combine.
struct MergeEstimate {
  Nanos fixed{}, per_slice{};  // `per_slice`: time per part
  // Whether parts are nodes of the binary tree over the items: a range leaves the fewest nodes that
  // cover it, and the root is already merged.
  bool tree = false;
  Nanos of(std::size_t parts) const {
    if (parts <= 1) return tree ? Nanos{} : fixed;
    return fixed + per_slice * static_cast<std::int64_t>(parts);
  }
};

// Exchanges of devices in a sample, over the links between them. Devices that are given work take
// part (lib/plan/exchange.hpp).
struct ExchangeEstimate {
  PeerLinks links{};  // links between the devices of the request; empty: nothing is exchanged
  // Replicated inputs: each device uploads a part, and sends it to the others.
  bool gathers = false;
  // Size of a part of the result, if parts are combined among the devices and not on the host; 0:
  // they are not.
  Bytes combines = 0;
  // Number of exchanges between iterations, in which devices wait for what others send them.
  std::uint32_t rounds = 0;
  Bytes halo = 0;  // bytes to each neighbour
  bool any() const { return !links.empty() && (gathers || combines > 0 || rounds > 0); }
};

// Times of a device for work whose items are stages of a chain: an iteration is a batch, which goes
// through all stages in order. Items differ then, and the time of each is known.
struct StageTimes {
  std::vector<double> keeps;  // seconds per batch by item, if the same device does the next item
  // Seconds per batch by item, if another device does the next item; empty: not known, derived from
  // the links between devices.
  std::vector<double> hands_over;
  bool operator==(const StageTimes&) const = default;
};
struct ChainEstimate {
  std::vector<StageTimes> devices;  // devices of the request
  std::vector<Bytes> bytes;         // by item: bytes that go to the next item per batch
  bool operator==(const ChainEstimate&) const = default;
};

// Returns a device's `fixed` if only `taking_part` of `all` devices take part, and `exchanging`
// devices, including this one, exchange data.
constexpr Nanos fixed_of(const DeviceEstimate& device, std::size_t taking_part, std::size_t all,
                         std::size_t exchanging = 1) {
  const Nanos done_by_others =
      device.fixed_shared - device.fixed_shared / static_cast<std::int64_t>(exchanging);
  return std::max(Nanos{},
                  device.fixed - done_by_others -
                      device.per_peer_contention * static_cast<std::int64_t>(all - taking_part));
}

struct PlanRequest {
  Items items = 0;
  // Every slice begins at a multiple of it, and is a multiple long except at the end of the range.
  Items granularity = 1;
  Mode mode = Mode::resident;
  ItemCost cost;
  std::span<const DeviceEstimate> devices;  // at least one
  // Host link that all devices share, or with a network those of a node; no limit if not known.
  LinkRate link_up{}, link_down{};
  MergeEstimate merge{};
  ExchangeEstimate exchange{};
  // Number of iterations of iterative work (lib/plan/rounds.hpp); 0: not iterative. The cost of an
  // item is that of all iterations.
  std::uint32_t rounds = 0;
  const ChainEstimate* chain = nullptr;  // null: items are alike
  // Network that the devices belong to; null: one machine, or the devices' own figures include the
  // network.
  const NodeNetwork* network = nullptr;
  Objective objective = Objective::time;  // time if the power of a device is not known
};

// Estimates of a whole set of devices, given or measured. Owns what a request only views.
struct SetEstimates {
  std::vector<DeviceEstimate> devices;
  LinkRate link_up{}, link_down{};
  MergeEstimate merge{};
  ExchangeEstimate exchange{};
  std::optional<ChainEstimate> chain{};  // none: items are alike
  NodeNetwork network{};
};

struct Wait {  // nothing now; ask again after any finished, rejected, lost or joined
  // Nothing more will come unless work is lost or rejected: a device may collect behind its slices
  // in flight.
  bool likely_last = false;
  constexpr bool operator==(const Wait&) const = default;
};
struct Done {  // answered once every item is finished
  constexpr bool operator==(const Done&) const = default;
};
using Answer = std::variant<Slice, Wait, Done>;

class Rebalancer;

// Decides what each device does next. Called by one thread at a time; never blocks, reads no clock.
// A device may be asked again while it still has slices in flight, so that its transfers overlap
// its compute.
class SliceSource {
 public:
  virtual ~SliceSource() = default;
  virtual Answer next(DeviceIndex device) = 0;
  // Reports a finished slice. `busy` = end - max(own start, end of this device's previous slice):
  // the time that the slice added to the device's time.
  virtual void finished(DeviceIndex device, const Slice& slice, Nanos busy) = 0;
  // Returns whether finished() uses `busy`; otherwise it may be zero. Reading time stamps takes
  // NVIDIA's driver a microsecond per slice, in which the device's thread enqueues nothing. The
  // result is constant.
  virtual bool uses_times() const { return true; }
  // Reports that the slice was not started, for lack of memory: offer this device at most `at_most`
  // items from now on (0: nothing more).
  virtual void rejected(DeviceIndex device, const Slice& slice, Items at_most) = 0;
  // Reports that the device failed. These slices, some of which may have been reported finished,
  // have no result on the host: next() gives them to other devices. Work that was still reserved
  // for the device goes to the others too.
  virtual void lost(DeviceIndex device, std::span<const Slice> not_on_host) = 0;
  // Reports that a lost device is back, or that a new one (index = one past the last) was added; it
  // may be given work from now on.
  virtual void joined(DeviceIndex device) = 0;
  // Returns, per device, the share that was set apart for it at the beginning, parts of which may
  // have moved since; empty if there are no such shares.
  virtual std::vector<Items> first_shares() const { return {}; }
  // Returns how many items were moved so far from a device's own work to that of others, in total
  // and by device; none: this source never moves work, as it reserves none or keeps shares.
  virtual std::optional<Items> moved() const { return std::nullopt; }
  virtual Items moved_from(DeviceIndex) const { return 0; }
  // Returns the partition of iterative work whose shares change between iterations
  // (lib/plan/rebalancer.hpp); null: shares do not change.
  virtual Rebalancer* rebalancer() { return nullptr; }
};

}  // namespace mgpu
