// Interface of a suite. A Workload is one problem: sizes, inputs, reference. It makes one
// DeviceProgram per device, which describes what to enqueue; it never times, never prints and never
// selects a device.
#pragma once

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/base/error.hpp"
#include "lib/base/findings.hpp"
#include "lib/base/units.hpp"
#include "lib/device/capability.hpp"
#include "lib/plan/slice_source.hpp"
#include "lib/workload/host_watch.hpp"
#include "lib/workload/interfaces.hpp"
#include "lib/workload/peers.hpp"
#include "lib/workload/stream.hpp"

namespace mgpu {

// Work of a problem, the same for every device and strategy.
struct Shape {
  Items items = 0, granularity = 1;
  ItemUnit unit{};
  ItemCost cost;
  // Whether the work of k items grows faster than k. `cost.ops`, the same for every item, does
  // not show that: an item costs less in few items, such as those of a short probe, than in all
  // of them. Times are then predicted from problems that were executed whole.
  bool superlinear = false;
  // Number of iterations of iterative work; 0: not iterative. Each device keeps its share for a
  // whole sample, in one slice, and after an iteration sends the others what they need of it.
  std::uint32_t rounds = 0;
  // Number of iterations between checkpoints, for which each device's part of the state is copied
  // to the host; 0: none. A sample that loses a device restarts from the last checkpoint. Needs
  // MovableWorkload.
  std::uint32_t checkpoint_rounds = 0;
  // Number of items below which the time of fewer says little about that of more: a GPU is idle
  // for most of an iteration, or has all data in its cache; 0: none. Probes of a GPU then have at
  // least `fills_gpu` items, or an equal share, and at most `probe_rounds` iterations, if that is
  // not 0, even if only the last iteration brings results.
  Items fills_gpu = 0;
  std::uint32_t probe_rounds = 0;
  // Operations of the whole problem, in `rate_unit`s: nodes, FLOP, terms.
  double ops = 0;
  std::string rate_unit;              // "nodes/s"
  std::string work_unit;              // unit of `cost.ops` per second; empty: rate_unit
  Bytes bytes_in = 0, bytes_out = 0;  // sizes of the problem's inputs and of its result
  // Whether the result stays on the devices: publish() is then called before every digest() and
  // verify(). If the result is larger than 64 KiB (`bytes_out`), these are called only after the
  // first and last sample of a case.
  bool result_on_devices = false;
  MergeEstimate merge{};  // cost of Workload::merge; nothing by default
  // Sets the cost of an item to an equal part of the work and the bytes.
  void spread_cost() {
    const double n = static_cast<double>(items);
    cost.ops = ops / n;
    cost.in_bytes = static_cast<double>(bytes_in) / n;
    cost.out_bytes = static_cast<double>(bytes_out) / n;
  }
  // Makes probes of a GPU have its whole share, of which a part may fit its cache, and as many
  // iterations as have `enough` operations, at least `least`.
  void probe_whole(double enough, std::uint32_t least) {
    fills_gpu = items;
    probe_rounds = static_cast<std::uint32_t>(
        std::clamp(enough * rounds / ops, static_cast<double>(least), 256.0));
  }
  // Reasons to doubt results that follow from the data, a line each; reported before anything is
  // measured.
  std::vector<std::string> caveats{};
};

// How many items a device can be given. `fits` 0: this device cannot do it in this mode; `reason`
// then says why in one line.
struct Capacity {
  Items fits = 0, pipeline = 0;
  Bytes resident = 0;  // device memory of a program with slices of `pipeline`
  std::string reason;
};

// How the result of a slice gets to the host. Until then it is lost with the device, and other
// devices compute the slice again.
enum class ResultPolicy {
  collect,  // slices add to an accumulation on the device, which collect() downloads
  slice,    // each slice downloads its own result
  publish   // results of a whole sample stay on the device until publish()
};

// Returns a buffer for inputs as DeviceResources::allocate_input does, or in memory of the device
// if inputs are to be resident.
inline std::unique_ptr<Buffer> allocate_input(DeviceResources& device, Bytes size,
                                              const Mode& mode) {
  return mode.inputs_resident ? device.allocate(size) : device.allocate_input(size);
}

// One device's part of the problem. Its buffers and kernels are made in Workload::program and freed
// with it. Called only by that device's worker. At most two slices are in flight; `slot` is 0 or 1,
// and two slices in flight have different slots.
class DeviceProgram {
 public:
  virtual ~DeviceProgram() = default;
  // Returns the interfaces that only some programs have.
  virtual ProgramInterfaces interfaces() { return {}; }
  // Returns the variant of Tunable::kernel_variants that it uses, for the record; empty: there is
  // only one.
  virtual std::string kernel_variant() const { return {}; }
  // Uploads the inputs that stay on the device; called before the samples, except end to end.
  virtual void load(Stream& stream) = 0;
  // Clears accumulated results at the start of a sample; end to end, also uploads replicated
  // inputs.
  virtual void prepare(Stream& stream) = 0;
  // Enqueues the commands of a slice; for an iterative workload, those of its initial state.
  virtual void enqueue(const Slice& slice, unsigned slot, Stream& stream) = 0;
  virtual ResultPolicy result_policy() const { return ResultPolicy::collect; }
  // Handles that the commands of this slice are complete; called with ResultPolicy::slice.
  virtual void finished(const Slice&) {}
  // Reduces what the device accumulated and downloads it; the completion hands the partials to
  // the workload. Called with ResultPolicy::collect after the device's last slice, perhaps more
  // than once.
  virtual Completion collect(Stream&) { return {}; }
  // Downloads what verify() needs in addition to the partials; called outside the sample.
  virtual Completion publish(Stream&) { return {}; }
};

enum class VerifyLevel { full, sample, off };

struct Verdict {
  enum class Status { passed, failed, off } status = Status::off;
  // Reference that the result was compared with, for people; off: why it was not compared.
  std::string method;
  std::string message;  // difference found, if failed
  Findings found{};     // if passed; its times are filled in by the caller that records it
};

class Workload {
 public:
  virtual ~Workload() = default;
  // Returns the interfaces that only some workloads have.
  virtual WorkloadInterfaces interfaces() { return {}; }
  virtual const Shape& shape() const = 0;
  virtual Capacity capacity(const DeviceTraits& device, Mode mode) const = 0;
  // Returns the device memory of a program that does the whole problem alone on such a device if
  // its memory were no limit; 0: it cannot, whatever its memory.
  virtual Bytes alone_bytes(const DeviceTraits& device, Mode mode) const {
    DeviceTraits roomy = device;
    roomy.global_memory = roomy.max_allocation = Bytes{1} << 50;
    return capacity(roomy, mode).resident;
  }
  // Returns nothing by default: no fraction of a roofline is recorded then.
  virtual Demand demand(const DeviceTraits&) const { return {}; }
  // Makes the device's program for slices of at most `capacity.fits` items. Throws
  // Error(out_of_memory) if the device has less memory than it reports.
  virtual std::unique_ptr<DeviceProgram> program(DeviceResources& device, Mode mode,
                                                 const Capacity& capacity) = 0;
  // Returns the host memory that transfers read from or write to. The executor pins it in place
  // while the workload lives.
  virtual std::span<const std::byte> transfer_memory() const = 0;
  virtual void begin_sample() = 0;  // discards the partials of the previous sample
  // Combines the partials on the host; the result is then complete.
  virtual void merge() = 0;
  virtual std::string digest() const = 0;  // lower-case hex of the merged result
  // Compares the result with a reference that shares no code with the kernels or merge(). Slow
  // parts of the reference are computed once and cached.
  virtual Verdict verify(VerifyLevel level, std::uint64_t seed) = 0;
  virtual void write_result(
      const std::filesystem::path& file) const = 0;  // writes --save-data; throws Error(output)

  // Return null if the workload does not have the interface.
  IterativeWorkload* iterative() { return interfaces().iterative; }
  MovableWorkload* movable() { return interfaces().movable; }
  StagedWorkload* staged() { return interfaces().staged; }
  PeerExchange* exchange() { return interfaces().exchange; }
  DeviceMerge* device_merge() { return interfaces().device_merge; }
  TimedMerge* timed_merge() { return interfaces().timed_merge; }
  Tunable* tunable() { return interfaces().tunable; }
  SizedByDevices* sized_by_devices() { return interfaces().sized_by_devices; }

  // Sets the watch over the workload's host work from now on.
  void set_host_watch(HostWatch watch) { host_watch_ = std::move(watch); }

 protected:
  const HostWatch& host_watch() const { return host_watch_; }

 private:
  HostWatch host_watch_;
};

// Returns the cost of an item in this mode, for the number of devices that was set last.
inline ItemCost cost_of(Workload& workload, Mode mode) {
  SizedByDevices* const sized = workload.sized_by_devices();
  return sized != nullptr ? sized->cost(mode) : workload.shape().cost;
}

// An option of one suite: `--tree plain|rfc6962`. The first value is the default.
struct SuiteOption {
  // name: one of `values`. count: one of them, or a count as parse_count reads it, stored as
  // plain digits. number: any finite number. file: one of them, or the name of a readable file.
  // text: any text. list: texts; the option may be repeated, and they are joined by commas. flag:
  // takes no value; `values` are no and yes.
  enum class Kind { name, count, number, file, text, list, flag };
  std::string name, help;
  std::vector<std::string> values;
  Kind kind = Kind::name;
  char letter = 0;           // 0: no short form
  std::string value_name{};  // of a list, in help
};

// Data of an input file that a suite keeps after reading it.
class InputData {
 public:
  virtual ~InputData() = default;
};

struct DeviceMemory {
  Bytes global = 0, allocation = 0;  // total, and of the largest allocation
};

// One problem as requested. `options` is complete, except that a flag is present only if it was
// given, so that results of a version without the flag stay comparable. `input` empty: seeded
// random data.
struct SuiteParams {
  std::uint64_t size = 0;
  std::uint64_t seed = 0;
  std::map<std::string, std::string> options;
  std::optional<std::filesystem::path> input;
  std::vector<std::filesystem::path> more_inputs;  // further files of --input FILE,FILE,..
  // Set by size_of_input for `make`, if finding the size takes reading the whole file.
  std::shared_ptr<InputData> input_data;
  unsigned host_threads = 1;
  // Number of devices in the set, the most that will share the problem.
  std::size_t devices = 1;
  bool cpus = false;                 // all devices of the set are CPUs
  std::vector<DeviceMemory> memory;  // by device; empty: not known
  Bytes buffer_alignment = 0;        // the largest of the devices; 0: not known

  bool has_flag(const std::string& name) const {
    const auto found = options.find(name);
    return found != options.end() && found->second == "yes";
  }
};

struct SuiteInfo {
  std::string name, summary;
  std::string size_name;           // unit of --size: "leaves"
  std::uint64_t default_size = 0;  // used if no rate is known to choose a size by
  std::uint64_t quick_size = 0;    // size with --quick
  // Density of the grid of sizes to choose from; 1: 1, 2, 4, ...; 2: 1, 2, 3, 4, 6, ...
  unsigned sizes_per_doubling = 1;
  // Size that fills any GPU, so that its rate is the device's; 0: default_size.
  std::uint64_t full_size = 0;
  // Least bytes of the full-size problem, so that its rate does not come from a GPU's caches.
  // Needs `host_bytes`.
  Bytes full_bytes = 0;
  std::uint64_t full_size_cpu = 0;  // full size for CPUs; 0: quick_size
  std::vector<SuiteOption> options;
  // Modes that it supports, including its own; others are skipped.
  std::vector<Mode> modes = {Mode::resident, Mode::end_to_end};
  std::size_t inputs = 1;         // most files that --input takes
  std::string input;              // content of those files, for people
  bool input_folders = false;     // --input may also name a folder
  bool measures_nothing = false;  // size 0 has a result, too
  // Whether its workloads have variants for `calibrate --tune`.
  bool has_kernel_variants = false;
  // Options of which each value is tuned separately; others do not change the fastest variant.
  std::vector<std::string> tuned_options;
  // Returns the host memory that one problem of this size takes, for a check before anything is
  // allocated. Every suite of the tool has it.
  Bytes (*host_bytes)(const SuiteParams&) = nullptr;
  // Returns the size that --input implies; all params but `size` are set. Throws Error(input).
  // Every suite of the tool has it.
  std::uint64_t (*size_of_input)(SuiteParams&) = nullptr;
  // Throws Error(usage) for a size or option that the suite cannot do. Cheap; called before
  // anything is allocated, and, for a given size, again when devices are chosen
  // (SuiteParams::memory).
  void (*check)(const SuiteParams&) = nullptr;
  // Returns the shape of a workload of seeded data before anything is allocated. Null: no size is
  // chosen for this suite, but its default is used. Throws what `check` throws.
  Shape (*shape)(const SuiteParams&) = nullptr;
  // Makes the workload. Throws Error(input) for a file it cannot read, and what `check` throws.
  std::function<std::unique_ptr<Workload>(const SuiteParams&)> make;

  // Hooks that only some suites need; null: nothing has to be done.
  struct OptionalHooks {
    // Returns `full_size` or `full_size_cpu` for these options: the same side makes less work
    // in a plane than in a box.
    std::uint64_t (*full_size_of)(const SuiteParams&) = nullptr;
    // Returns reasons to doubt the results of a problem that can be done, a line each; `run`
    // warns of them.
    std::vector<std::string> (*caveats)(const SuiteParams&) = nullptr;
    // Fills in what the options left open, for the record; called after `check`.
    void (*resolve)(SuiteParams&) = nullptr;
    // Shortens a problem of which only the rate at the reference size is needed, for example by
    // fewer iterations.
    void (*make_short)(SuiteParams&) = nullptr;
    // Returns the options of each problem, if the value of an option stands for several.
    std::vector<std::map<std::string, std::string>> (*swept)(
        const std::map<std::string, std::string>& options) = nullptr;
    // Fills in options that only devices can decide and that were left open. The devices of the
    // set are open; `make` is called later. `group`: the group in which these devices exchange
    // data, in their order; null: they cannot. Blocks. Throws Error(device), Error(timeout),
    // Error(out_of_memory), Error(unsupported); the options are then left as they are.
    void (*resolve_with_devices)(SuiteParams&, std::span<DeviceResources* const> devices,
                                 PeerGroup* group) = nullptr;
  } optional;

  // Properties of a suite whose problems are described in users' files.
  struct Descriptors {
    // Name of the option for the file; if no suite is named, it selects this one.
    std::string option;
    // Sizes of the described problem without --size and with --quick, and a name that
    // distinguishes its work from other work of the suite. `problem` throws what `check` throws.
    struct OwnProblem {
      std::uint64_t size = 0, quick_size = 0;
      std::string work;
    };
    OwnProblem (*problem)(const SuiteParams&) = nullptr;
    // Returns the options of each problem, if the value of an option stands for several. Throws
    // Error(usage).
    std::vector<std::map<std::string, std::string>> (*swept)(
        const std::map<std::string, std::string>& options) = nullptr;
    // Request of `init`: the kernel file, entry and build options for which a descriptor is
    // written, and the file of the descriptor, if any. make_template calls `builds` before it
    // compiles the kernel, returns the text, and throws Error(input), Error(unsupported).
    struct TemplateRequest {
      std::filesystem::path file;
      std::string entry, options;
      std::filesystem::path descriptor;
      std::function<void()> builds;
    };
    std::string (*make_template)(DeviceResources&, const TemplateRequest&) = nullptr;
    std::string shown = {};  // value of the option in an overview of all suites
    // How another process ended that ran a problem's kernels on a CPU: whether they crashed it, and
    // the error that it wrote last, if any.
    struct OtherEnd {
      bool crashed = false;
      std::string said;
    };
    using OtherProcess = std::function<OtherEnd(const SuiteParams&)>;
    // Sets the function that runs a problem's kernels in another process. Workloads call it before
    // they run a user's kernel on a CPU, where one that crashes ends its process.
    void (*set_other_process)(OtherProcess) = nullptr;
  };
  std::optional<Descriptors> descriptors;
};

}  // namespace mgpu
