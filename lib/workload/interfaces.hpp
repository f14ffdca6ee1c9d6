// Declares the interfaces that only some suites need: a Workload and its DeviceProgram return those
// they have, and null for the others.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/base/units.hpp"
#include "lib/plan/slice_source.hpp"
#include "lib/workload/peers.hpp"
#include "lib/workload/stream.hpp"

namespace mgpu {

// Called once the commands that were just enqueued are complete; empty: nothing is to be done then.
using Completion = std::function<void()>;

// A part of the items of an iterative sample.
struct Owner {
  DeviceIndex device;  // in the group that exchanges data
  Slice items;
};

// Computes all items again and again (Shape::rounds); each device keeps its part for a whole
// sample.
class IterativeWorkload {
 public:
  // Called before begin_sample: the partition of the items for the sample, in their order. Empty:
  // slices are by themselves, which tells what they cost, and have no neighbours.
  virtual void set_partition(std::span<const Owner> owners) = 0;

 protected:
  ~IterativeWorkload() = default;
};

// An iterative workload whose state can move between devices and be restored from checkpoints.
class MovableWorkload {
 public:
  // Between rounds, while none is under way: from now on these own the items; each has some and had
  // some before. False: the partition stays as it is.
  virtual bool repartition(std::span<const Owner> owners) = 0;
  // After a sample lost a device: returns the rounds done at the last complete checkpoint.
  virtual std::uint32_t checkpointed_rounds() const = 0;
  // Instead of begin_sample(): enqueue() then brings a slice to that checkpoint.
  virtual void restart() = 0;
  // Returns whether a device may bring the checkpoint of so many rounds to the host; false: another
  // one has not done the one before.
  virtual bool may_checkpoint(std::uint32_t rounds) const = 0;

 protected:
  ~MovableWorkload() = default;
};

// An iterative workload whose items are stages of a chain (StageTimes).
class StagedWorkload {
 public:
  // Returns what programs measured when they were made, of devices by DeviceTraits::id. None:
  // nothing is known of one of these devices.
  virtual std::optional<ChainEstimate> chain(std::span<const std::string> devices) const = 0;

 protected:
  ~StagedWorkload() = default;
};

// Describes what devices exchange in samples of a workload.
struct Exchanged {
  bool inputs = false;  // `cost.replicated`: each brings a part of it, and they gather the rest
                        // (lib/exchange/replicated_input.hpp)
  Bytes part =
      0;  // of the result: parts of so many bytes are combined among the devices; 0: they are not
  // After so many rounds each sends so many bytes to its neighbours, without which devices cannot
  // share a sample.
  std::uint32_t rounds = 0;
  Bytes halo = 0;
  // Says that kernels of the rounds send halos, if all paths are direct, and meanwhile compute what
  // needs none of them.
  bool hides_halos = false;
  bool any() const { return inputs || part > 0 || rounds > 0; }
};

// Devices exchange data in samples (lib/workload/peers.hpp).
class PeerExchange {
 public:
  // Returns what they would do faster in this mode.
  virtual Exchanged exchanged(Mode mode) const = 0;
  // Before programs are made: their devices have an end of this group (DeviceResources::peer).
  // Throws what PeerGroup::allocate does.
  virtual void connect(PeerGroup& group) = 0;
  // When programs are gone: frees what it allocated of the group, which may be gone before, once a
  // device of it was lost.
  virtual void disconnect() = 0;
  // Returns whether partials stay on devices that exchange data until all are there, to be combined
  // among them (CombiningProgram).
  virtual bool combines() const { return false; }
  // Before begin_sample: those of the group that share the sample. Empty: nothing is exchanged in
  // it.
  virtual void exchange_among(std::span<const DeviceIndex> /*members*/) {}

 protected:
  ~PeerExchange() = default;
};

// Devices can combine the partials that were given to the workload (MergingProgram).
class DeviceMerge {
 public:
  // Returns whether the device would be faster than the host, which takes `per_part` for each part
  // (0: not known), now that all partials are here.
  virtual bool merge_on_device(const DeviceTraits&, Nanos /*per_part*/) const { return false; }
  // False: Workload::merge is never called, as only devices know how partials combine. Whichever is
  // left then merges, whatever merge_on_device() says of it.
  virtual bool merges_on_host() const { return true; }

 protected:
  ~DeviceMerge() = default;
};

// The host takes long enough to merge for strategies to weigh it. It is timed before they plan.
class TimedMerge {
 public:
  // Combines `parts` made-up partial results as merge() would; 0: only does what each merge takes
  // besides. Not during a sample; the next one begins as if it had not been called.
  virtual void rehearse_merge(std::size_t parts) = 0;

 protected:
  ~TimedMerge() = default;
};

// Several kernels, tiles or settings compute the same on a device. `calibrate --tune` measures them
// and caches the fastest that verifies.
class Tunable {
 public:
  // Returns their names, the one taken by default first.
  virtual std::vector<std::string> kernel_variants(const DeviceTraits& device) const = 0;
  // Programs made from now on for this device take that kernel variant, where it suits the problem.
  // False: the device has none of that name.
  bool prefer(const DeviceTraits& device, const std::string& variant) {
    if (!has_variant(device, variant)) return false;
    preferred_[device.id] = variant;
    return true;
  }

 protected:
  ~Tunable() = default;
  // Returns whether the device has it for any problem of the suite.
  virtual bool has_variant(const DeviceTraits& device, const std::string& variant) const {
    const std::vector<std::string> all = kernel_variants(device);
    return std::find(all.begin(), all.end(), variant) != all.end();
  }
  // Returns the name of the preferred variant; empty: there is none.
  std::string preferred(const DeviceTraits& device) const {
    const auto found = preferred_.find(device.id);
    return found == preferred_.end() ? std::string() : found->second;
  }

 private:
  std::map<std::string, std::string> preferred_;  // by device
};

// How a sample is computed, and what an item costs, depends on how many devices share it.
class SizedByDevices {
 public:
  virtual void set_device_count(std::size_t devices) = 0;  // before begin_sample
  virtual ItemCost cost(Mode mode) const = 0;              // in place of Shape::cost

 protected:
  ~SizedByDevices() = default;
};

// Each null where the workload does not have it.
struct WorkloadInterfaces {
  IterativeWorkload* iterative = nullptr;
  MovableWorkload* movable = nullptr;
  StagedWorkload* staged = nullptr;
  PeerExchange* exchange = nullptr;
  DeviceMerge* device_merge = nullptr;
  TimedMerge* timed_merge = nullptr;
  Tunable* tunable = nullptr;
  SizedByDevices* sized_by_devices = nullptr;
};

// The program of an IterativeWorkload: after enqueue() comes each round, beginning with 0.
class IterativeProgram {
 public:
  virtual void enqueue_round(const Slice& slice, std::uint32_t round, Stream& stream) = 0;
  // Enqueues round `first` and, where the program does several by one launch, up to `most` - 1 of
  // those after it. Returns how many it was.
  virtual std::uint32_t enqueue_rounds(const Slice& slice, std::uint32_t first,
                                       std::uint32_t /*most*/, Stream& stream) {
    enqueue_round(slice, first, stream);
    return 1;
  }

 protected:
  ~IterativeProgram() = default;
};

// The program of a MovableWorkload.
class MovableProgram {
 public:
  // When so many rounds are done: its share was `from`, and is `to` from now on. Sends the others
  // what they have now, and waits for what it has, as MovableWorkload::repartition has it.
  virtual void move(const Slice& from, const Slice& to, std::uint32_t rounds, Stream& stream) = 0;
  // When so many rounds are done (Shape::checkpoint_rounds): the slice's state to where the
  // workload keeps it. Later rounds may follow before that has ended.
  virtual Completion checkpoint(const Slice& slice, std::uint32_t rounds, Stream& stream) = 0;

 protected:
  ~MovableProgram() = default;
};

// The program of a workload that combines().
class CombiningProgram {
 public:
  // When all devices have collected, brings what is left on this one to the host; `together`: it is
  // combined with the others' first, and each brings a part of the result. Workload::merge comes
  // when all devices have brought theirs. May be called again, after others were lost and this
  // device did their part.
  virtual Completion bring(bool together, Stream& stream) = 0;

 protected:
  ~CombiningProgram() = default;
};

// The program of a workload with DeviceMerge.
class MergingProgram {
 public:
  // Workload::merge on this device.
  virtual Completion merge(Stream& stream) = 0;

 protected:
  ~MergingProgram() = default;
};

// A program that relies on what compilers have failed at.
class SelfTested {
 public:
  // Before anything is measured: does the device compute what this program relies on? The
  // completion throws Error(unsupported): the device is then refused for this problem.
  virtual Completion self_test(Stream& stream) = 0;

 protected:
  ~SelfTested() = default;
};

// Each null where the program does not have it.
struct ProgramInterfaces {
  IterativeProgram* iterative = nullptr;
  MovableProgram* movable = nullptr;
  CombiningProgram* combining = nullptr;
  MergingProgram* merging = nullptr;
  SelfTested* self_tested = nullptr;
};

}  // namespace mgpu
