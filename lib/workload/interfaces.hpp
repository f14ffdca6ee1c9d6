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

#include "lib/base/live_figure.hpp"
#include "lib/base/units.hpp"
#include "lib/plan/slice_source.hpp"
#include "lib/workload/peers.hpp"
#include "lib/workload/stream.hpp"

namespace mgpu {

// Function to call once the commands that were just enqueued are complete; empty: nothing has to be
// done then.
using Completion = std::function<void()>;

// A part of the items of an iterative sample.
struct Owner {
  DeviceIndex device;  // position in the group that exchanges data
  Slice items;
};

// Computes all items in iterations (Shape::rounds); each device keeps its part for a whole sample.
class IterativeWorkload {
 public:
  // Sets the partition of the items for the sample, in the order of the items; called before
  // begin_sample. Empty: slices are computed in isolation, without neighbours, to measure their
  // cost.
  virtual void set_partition(std::span<const Owner> owners) = 0;

 protected:
  ~IterativeWorkload() = default;
};

// An iterative workload whose state can move between devices and be restored from checkpoints.
class MovableWorkload {
 public:
  // Changes the partition; called between iterations, while none is under way. Every device with
  // a part had one before. Returns false if the partition stays as it is.
  virtual bool repartition(std::span<const Owner> owners) = 0;
  // Returns the number of iterations done at the last complete checkpoint; called after a sample
  // lost a device.
  virtual std::uint32_t checkpointed_rounds() const = 0;
  // Restarts the sample from that checkpoint, instead of begin_sample(): enqueue() then uploads a
  // slice's state of the checkpoint.
  virtual void restart() = 0;
  // Returns whether a device may download its part of the checkpoint after `rounds` iterations;
  // false: another device has not completed the previous checkpoint.
  virtual bool may_checkpoint(std::uint32_t rounds) const = 0;

 protected:
  ~MovableWorkload() = default;
};

// An iterative workload whose items are stages of a chain (StageTimes).
class StagedWorkload {
 public:
  // Returns what programs measured when they were made, by DeviceTraits::id. None: nothing is
  // known of one of these devices.
  virtual std::optional<ChainEstimate> chain(std::span<const std::string> devices) const = 0;

 protected:
  ~StagedWorkload() = default;
};

// Exchanges of devices in samples of a workload.
struct Exchanged {
  // Each device uploads a part of `cost.replicated`, and they gather the rest
  // (lib/exchange/replicated_input.hpp).
  bool inputs = false;
  // Size of the parts of the result that are combined among the devices; 0: they are not
  // combined.
  Bytes part = 0;
  // Number of exchanges between the iterations of a sample, and the bytes that each device sends to
  // each neighbour in one. Without them devices cannot share a sample.
  std::uint32_t rounds = 0;
  Bytes halo = 0;
  // Whether, if all paths are direct, kernels of the iterations send the halos themselves and
  // meanwhile compute what does not depend on them.
  bool hides_halos = false;
  bool any() const { return inputs || part > 0 || rounds > 0; }
};

// A value of a suite's option that changes only what devices exchange, such as "--partition relay".
struct ExchangeChoice {
  std::string option;
  Exchanged exchanged;
};

// Interface of workloads whose devices exchange data in samples (lib/workload/peers.hpp).
class PeerExchange {
 public:
  // Returns the exchanges that make samples in this mode faster.
  virtual Exchanged exchanged(Mode mode) const = 0;
  // Returns all values of an option that chooses among exchanges, for a plan that compares them;
  // empty: there is no such option.
  virtual std::vector<ExchangeChoice> choices() const { return {}; }
  // Connects the workload to the group; called before programs are made, whose devices have an
  // end of this group (DeviceResources::peer). Throws what PeerGroup::allocate throws.
  virtual void connect(PeerGroup& group) = 0;
  // Frees what the workload allocated of the group; called after programs are destroyed. The
  // group may be destroyed before, once one of its devices was lost.
  virtual void disconnect() = 0;
  // Returns whether partials stay on devices that exchange data until all partials are there, to
  // be combined among the devices (CombiningProgram).
  virtual bool combines() const { return false; }
  // Sets the members of the group that share the sample; called before begin_sample. Empty:
  // nothing is exchanged in it.
  virtual void exchange_among(std::span<const DeviceIndex> /*members*/) {}

 protected:
  ~PeerExchange() = default;
};

// Interface of workloads whose partials, once handed to the workload, can be combined on a device
// (MergingProgram).
class DeviceMerge {
 public:
  // Returns whether the device would merge faster than the host, which takes `per_part` for each
  // part (0: not known), now that all partials have arrived.
  virtual bool merge_on_device(const DeviceTraits&, Nanos /*per_part*/) const { return false; }
  // Returns false if only devices can combine partials. Workload::merge is then never called, and
  // any remaining device merges, whatever merge_on_device() returns for it.
  virtual bool merges_on_host() const { return true; }

 protected:
  ~DeviceMerge() = default;
};

// Interface of workloads whose merge on the host takes long enough for strategies to weigh it. It
// is timed before they plan.
class TimedMerge {
 public:
  // Combines `parts` made-up partial results, at least one, as merge() would. Not during a sample;
  // the next one begins as if it had not been called.
  virtual void rehearse_merge(std::size_t parts) = 0;

 protected:
  ~TimedMerge() = default;
};

// Interface of workloads that have several equivalent kernels, tiles or settings for a device.
// `calibrate --tune` measures them and caches the fastest one that verifies.
class Tunable {
 public:
  // Returns the names of the variants, the default one first.
  virtual std::vector<std::string> kernel_variants(const DeviceTraits& device) const = 0;
  // Makes programs that are created for this device from now on use that kernel variant, if it
  // suits the problem. Returns false if the device has no variant of that name.
  bool prefer(const DeviceTraits& device, const std::string& variant) {
    if (!has_variant(device, variant)) return false;
    preferred_[device.id] = variant;
    return true;
  }

 protected:
  ~Tunable() = default;
  // Returns whether the device has the variant for any problem of the suite.
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
  std::map<std::string, std::string> preferred_;  // by DeviceTraits::id
};

// Interface of workloads whose algorithm, and so the cost of an item, depends on the number of
// devices that share a sample.
class SizedByDevices {
 public:
  virtual void set_device_count(std::size_t devices) = 0;  // called before begin_sample
  virtual ItemCost cost(Mode mode) const = 0;              // replaces Shape::cost

 protected:
  ~SizedByDevices() = default;
};

// Iterative workload whose samples have figures before they end.
class LiveWorkload {
 public:
  // Returns the latest figures of the sample; empty before the first ones. May be called from any
  // thread.
  virtual std::vector<LiveFigure> live_figures() const = 0;

 protected:
  ~LiveWorkload() = default;
};

// Interfaces of a workload; those that it does not have are null.
struct WorkloadInterfaces {
  IterativeWorkload* iterative = nullptr;
  MovableWorkload* movable = nullptr;
  StagedWorkload* staged = nullptr;
  PeerExchange* exchange = nullptr;
  DeviceMerge* device_merge = nullptr;
  TimedMerge* timed_merge = nullptr;
  Tunable* tunable = nullptr;
  SizedByDevices* sized_by_devices = nullptr;
  LiveWorkload* live = nullptr;
};

// Program of an IterativeWorkload. After enqueue() each iteration is enqueued, beginning with 0.
class IterativeProgram {
 public:
  virtual void enqueue_round(const Slice& slice, std::uint32_t round, Stream& stream) = 0;
  // Enqueues iteration `first` and, if the program does several in one launch, up to `most` - 1
  // of the following ones. Returns how many iterations were enqueued.
  virtual std::uint32_t enqueue_rounds(const Slice& slice, std::uint32_t first,
                                       std::uint32_t /*most*/, Stream& stream) {
    enqueue_round(slice, first, stream);
    return 1;
  }
  // Tells whether an iteration is enqueued only when the one before it is complete, because it
  // decides whether there is another.
  virtual bool is_one_by_one() const { return false; }

 protected:
  ~IterativeProgram() = default;
};

// Program of a MovableWorkload.
class MovableProgram {
 public:
  // Rebalances after `rounds` iterations: the device's share was `from`, and is `to` from now on,
  // as passed to MovableWorkload::repartition. Sends other devices the state of items that they
  // receive, and waits for that of items that this device receives.
  virtual void move(const Slice& from, const Slice& to, std::uint32_t rounds, Stream& stream) = 0;
  // Copies the slice's state after `rounds` iterations (Shape::checkpoint_rounds) to where the
  // workload keeps checkpoints. Later iterations may be enqueued before that has ended.
  virtual Completion checkpoint(const Slice& slice, std::uint32_t rounds, Stream& stream) = 0;

 protected:
  ~MovableProgram() = default;
};

// Program of a LiveWorkload.
class LiveProgram {
 public:
  // Downloads the figures after `rounds` iterations, above 0; the completion hands them to the
  // workload. Later iterations may be enqueued before that has ended.
  virtual Completion report(const Slice& slice, std::uint32_t rounds, Stream& stream) = 0;

 protected:
  ~LiveProgram() = default;
};

// Program of a workload that combines().
class CombiningProgram {
 public:
  // Downloads the partials that are left on this device, once all devices have collected.
  // `together`: they are first combined with those of the others, and each device downloads a
  // part of the result. Workload::merge is called when all devices are done. May be called again,
  // after other devices were lost and this one did their part.
  virtual Completion bring(bool together, Stream& stream) = 0;

 protected:
  ~CombiningProgram() = default;
};

// Program of a workload with DeviceMerge.
class MergingProgram {
 public:
  // Does the work of Workload::merge on this device.
  virtual Completion merge(Stream& stream) = 0;

 protected:
  ~MergingProgram() = default;
};

// Program that relies on features that compilers are known to get wrong.
class SelfTested {
 public:
  // Checks, before anything is measured, that the device computes correctly what this program
  // relies on. If not, the completion throws Error(unsupported), and the device is refused for
  // this problem.
  virtual Completion self_test(Stream& stream) = 0;

 protected:
  ~SelfTested() = default;
};

// Interfaces of a program; those that it does not have are null.
struct ProgramInterfaces {
  IterativeProgram* iterative = nullptr;
  MovableProgram* movable = nullptr;
  CombiningProgram* combining = nullptr;
  MergingProgram* merging = nullptr;
  SelfTested* self_tested = nullptr;
  LiveProgram* live = nullptr;
};

}  // namespace mgpu
