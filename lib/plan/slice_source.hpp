// The seam between "who gets what" and everything that runs it: the executor and the simulator
// drive the same SliceSource. Pure: no clock, no thread, no device handle.
#pragma once

#include <algorithm>
#include <compare>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "lib/base/units.hpp"
#include "lib/device/link_rate.hpp"
#include "lib/device/peer_links.hpp"
#include "lib/plan/mode.hpp"
#include "lib/plan/network.hpp"

namespace mgpu {

// A contiguous range of items one device takes at once: [begin, end).
struct Slice {
  Items begin = 0, end = 0;
  constexpr Items size() const { return end - begin; }
  constexpr auto operator<=>(const Slice&) const = default;
};

// What one item costs, for strategies that weigh transfers against compute.
struct ItemCost {
  double in_bytes = 0, out_bytes = 0, ops = 0;  // per item
  Bytes replicated = 0;  // that every device which takes part needs: sent whole, or gathered
};

// What a strategy is given about one device. A slice of k items takes transfer + k * in_bytes / up
// in its upload queue, launch + k / items_per_s but at least `minimum_slice` in its compute queue,
// `first_slice_discount` less where it is the first of a sample, and transfer + k * out_bytes /
// down in its download queue; resident samples only compute. Rates are those of the device at work
// beside the others of the set. 0: not known.
struct DeviceEstimate {
  double items_per_s = 0;       // what one item more adds: kernels alone, transfers not counted
  double score = 0;             // the static score, 0-100
  Nanos fixed{};                // per sample in which all take part: first submit, collect
  Nanos per_peer_contention{};  // of that, for each other device: host threads wait for each other
  Nanos fixed_shared{};   // of that, what each of m devices that exchange data does one m-th of
  Nanos launch{};         // per slice: what does not shrink with it
  Nanos minimum_slice{};  // of a slice: it leaves part of the device idle
  Nanos first_slice_discount{};  // of `launch`, in a sample's first slice: what slices that meet
                                 // cost (a wave that is not full)
  Nanos transfer{};              // per slice and direction, likewise
  double up = 0, down = 0;       // bytes/s of its own link
  Items fits = 0;      // the largest slice it can take at once; a source never offers more
  Items pipeline = 0;  // a static share comes in pieces of that, or a small remainder more, so that
                       // transfers overlap compute; <= fits
  Bytes free_memory = 0;  // of the device, before this problem's buffers
  bool on_cpu = false;    // it computes on cores that host threads need as well: these are late to
                          // hand it what comes next
  bool reserve = false;   // a fall-back: given work only when no other device is left
};

// Of combining what devices made, on the host. Slices of one device that are neighbours are
// combined there and make one part; where a single part is all, nothing is left to combine.
struct MergeEstimate {
  Nanos fixed{}, per_slice{};  // per_slice: of a part
  // Parts are nodes of the binary tree over the items: a range leaves the fewest that cover it, and
  // the root is merged already.
  bool tree = false;
  Nanos of(std::size_t parts) const {
    if (parts <= 1) return tree ? Nanos{} : fixed;
    return fixed + per_slice * static_cast<std::int64_t>(parts);
  }
};

// What devices exchange in a sample, over the links between them: those that are to be given work
// (lib/plan/exchange.hpp).
struct ExchangeEstimate {
  PeerLinks links{};     // of the devices of the request; empty: nothing is exchanged
  bool gathers = false;  // replicated inputs: each uploads a part, and sends that to the others
  Bytes combines =
      0;  // of a part of the result: parts are combined among the devices, not on the host; 0: not
  std::uint32_t rounds = 0;  // after each of so many rounds devices wait for what others send them
  Bytes halo = 0;            // to each of them
  bool any() const { return !links.empty() && (gathers || combines > 0 || rounds > 0); }
};

// Of work whose items are stages of a chain: a round is a batch, which goes through all of them in
// order. Items are not alike then, and what a device takes for a round is known of each.
struct StageTimes {
  std::vector<double> keeps;  // seconds of a round by item, where the same device does the next one
  std::vector<double> hands_over;  // likewise, where another one does; empty: not known, the links
                                   // between devices say it
  bool operator==(const StageTimes&) const = default;
};
struct ChainEstimate {
  std::vector<StageTimes> devices;  // of the request
  std::vector<Bytes> bytes;         // by item, of what goes to the next one in a round
  bool operator==(const ChainEstimate&) const = default;
};

// Of a device's `fixed`, where only some of the devices take part, or so many exchange data, which
// it does too.
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
  Items granularity = 1;  // every slice starts at a multiple of it, and is a multiple long but for
                          // the end of the range
  Mode mode = Mode::resident;
  ItemCost cost;
  std::span<const DeviceEstimate> devices;  // at least one
  LinkRate link_up{}, link_down{};  // of the host link all devices share, with a network those of a
                                    // node; no limit when not known
  MergeEstimate merge{};
  ExchangeEstimate exchange{};
  // Above 0: the work goes in rounds (lib/plan/rounds.hpp); what items cost is what they cost in
  // all of them.
  std::uint32_t rounds = 0;
  const ChainEstimate* chain = nullptr;  // null: items are alike
  const NodeNetwork* network = nullptr;  // of which the devices are; null: one machine, or its
                                         // figures are in the devices' own
};

// What is given, or known better, of a whole set of devices; owned, where a request only views
// them.
struct SetEstimates {
  std::vector<DeviceEstimate> devices;
  LinkRate link_up{}, link_down{};
  MergeEstimate merge{};
  ExchangeEstimate exchange{};
  std::optional<ChainEstimate> chain{};  // none: items are alike
  NodeNetwork network{};
};

struct Wait {                // nothing now; ask again after any finished, rejected, lost or joined
  bool likely_last = false;  // nothing more will come unless work is lost or rejected: a device may
                             // collect behind what it has in flight
  constexpr bool operator==(const Wait&) const = default;
};
struct Done {  // every item is finished; only then
  constexpr bool operator==(const Done&) const = default;
};
using Answer = std::variant<Slice, Wait, Done>;

class Borders;

// Answers "what does this device do next?". Called by one thread at a time; never blocks, reads no
// clock. A device may be asked again while it still has slices in flight, so that its transfers
// overlap its compute.
class SliceSource {
 public:
  virtual ~SliceSource() = default;
  virtual Answer next(DeviceIndex device) = 0;
  // busy = end - max(own start, end of this device's previous slice): what the slice added to the
  // device's time.
  virtual void finished(DeviceIndex device, const Slice& slice, Nanos busy) = 0;
  // Whether finished() looks at `busy`; else it may be zero. To read time stamps takes NVIDIA's
  // driver a microsecond a slice, in which the device's thread enqueues nothing. The same answer
  // for as long as it lives.
  virtual bool uses_times() const { return true; }
  // The slice was not started, for want of memory: offer this device at most `at_most` items from
  // now on (0: nothing more).
  virtual void rejected(DeviceIndex device, const Slice& slice, Items at_most) = 0;
  // The device is gone. These slices, some of them perhaps reported finished, have no result on the
  // host: next() of the others gives them out again. What the device was still to be given goes to
  // the others too.
  virtual void lost(DeviceIndex device, std::span<const Slice> not_on_host) = 0;
  // A device that was lost is back, or a new one (index = one past the last) steps in; it may be
  // given work from now on.
  virtual void joined(DeviceIndex device) = 0;
  // Per device, what was set apart for it at the beginning and may since have moved; empty where
  // nothing was.
  virtual std::vector<Items> first_shares() const { return {}; }
  // Of work that goes in rounds, where shares change between them (lib/plan/borders.hpp); null:
  // they do not.
  virtual Borders* borders() { return nullptr; }
};

}  // namespace mgpu
