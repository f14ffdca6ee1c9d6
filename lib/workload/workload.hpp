// What a suite must offer. A Workload is one problem: sizes, inputs, reference. It makes one
// DeviceProgram per device, which describes what to enqueue; it never times, never prints and never
// picks a device.
#pragma once

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
#include "lib/plan/slice_source.hpp"
#include "lib/workload/host_watch.hpp"
#include "lib/workload/interfaces.hpp"
#include "lib/workload/peers.hpp"
#include "lib/workload/stream.hpp"

namespace mgpu {

// The same for every device and strategy.
struct Shape {
  Items items = 0, granularity = 1;
  ItemCost cost;
  // The work of k items grows faster than k, which `cost.ops`, the same for every item, does not
  // say: in few items, such as those of a short probe, each costs less than in all of them. Times
  // are then predicted by problems that were executed whole.
  bool superlinear = false;
  // Above 0: the work goes in rounds. Each device keeps its share for a whole sample, in one slice,
  // and exchanges what others need of it after a round.
  std::uint32_t rounds = 0;
  // Above 0: after so many rounds, again and again, each device's part of the state is brought to
  // the host, so that a sample that loses a device begins again from there. Needs MovableWorkload.
  std::uint32_t checkpoint_rounds = 0;
  // Above 0: fewer items leave a GPU idle for most of a round, so that they take as long: its
  // probes are of so many at least, and of so many rounds at most, whether or not the last round
  // brings something.
  Items fills_gpu = 0;
  std::uint32_t probe_rounds = 0;
  double ops = 0;                     // of the whole problem, in `rate_unit`s: nodes, FLOP, terms
  std::string rate_unit;              // "nodes/s"
  std::string work_unit;              // of `cost.ops` per second; empty: rate_unit
  Bytes bytes_in = 0, bytes_out = 0;  // the problem's inputs, and its result
  // The result stays on the devices: publish() is called before every digest() and verify(). If it
  // is larger than 64 KiB (`bytes_out`), these are called after the first and last sample of a case
  // only.
  bool result_on_devices = false;
  MergeEstimate merge{};  // what Workload::merge costs; nothing by default
  // Sets the cost of an item: each is as much of the work and the bytes as any other.
  void spread_cost() {
    const double n = static_cast<double>(items);
    cost.ops = ops / n;
    cost.in_bytes = static_cast<double>(bytes_in) / n;
    cost.out_bytes = static_cast<double>(bytes_out) / n;
  }
  // Names what its data make doubtful of results, a line each: known, and told, before anything is
  // measured.
  std::vector<std::string> caveats{};
};

// What a problem asks of a device at least, all of it on that one, in the kinds of work that
// `calibrate` measures roofs of (lib/device/capability.hpp). 0: next to nothing, or a kind whose
// roof is not measured. Transfers are no part of it.
struct Demand {
  double fp32 = 0, fp64 = 0, int32 = 0;  // operations, multiply-adds counted as two
  double memory_bytes = 0;               // read and written
};

// How much a device can be given. `fits` 0: this device cannot do it in this mode; `reason` then
// says why in one line.
struct Capacity {
  Items fits = 0, pipeline = 0;
  Bytes resident = 0;  // device memory a program with slices of `pipeline` takes
  std::string reason;
};

// What brings the result of a slice to the host: until then a device that is lost takes it along,
// and others compute it again.
enum class Brings {
  collect,  // slices add to what the device holds, and collect() brings that
  slice,    // each slice downloads its own
  publish   // results stay on the device, all of what it did in a sample, until publish()
};

// One device's part. Its buffers and kernels are made in Workload::program and freed with it.
// Called by that device's worker only. At most two slices are in flight; `slot` is 0 or 1 and no
// two slices in flight share one.
class DeviceProgram {
 public:
  virtual ~DeviceProgram() = default;
  // Returns what only some programs can do.
  virtual ProgramInterfaces interfaces() { return {}; }
  // Returns the one of Tunable::kernel_variants that it takes, for the record; empty: there is but
  // one.
  virtual std::string kernel_variant() const { return {}; }
  virtual void load(Stream& stream) = 0;     // before the samples, but for end to end: inputs that
                                             // stay on the device
  virtual void prepare(Stream& stream) = 0;  // at the start of a sample: clear what was
                                             // accumulated; end to end: replicated inputs
  // Enqueues the commands of a slice; of an iterative workload, those of its initial state.
  virtual void enqueue(const Slice& slice, unsigned slot, Stream& stream) = 0;
  virtual Brings brings() const { return Brings::collect; }
  // Brings::slice: the commands of this slice are complete.
  virtual void finished(const Slice&) {}
  // Brings::collect: after the device's last slice, and perhaps more than once, reduces what it
  // accumulated and brings it to the host; the completion hands the partials to the workload.
  virtual Completion collect(Stream&) { return {}; }
  // Outside the sample: brings to the host what verify() wants beyond the partials.
  virtual Completion publish(Stream&) { return {}; }
};

enum class VerifyLevel { full, sample, off };

struct Verdict {
  enum class Status { passed, failed, off } status = Status::off;
  std::string method;   // what it was compared with, for a person; off: why with nothing
  std::string message;  // when failed: what differed
  Findings found{};     // when passed; times are left to who records it
};

class Workload {
 public:
  virtual ~Workload() = default;
  // Returns what only some workloads have.
  virtual WorkloadInterfaces interfaces() { return {}; }
  virtual const Shape& shape() const = 0;
  virtual Capacity capacity(const DeviceTraits& device, Mode mode) const = 0;
  virtual Demand demand(const DeviceTraits&) const {
    return {};
  }  // none given: no fraction of a roofline is recorded
  // Largest slice it will be given: `capacity.fits`. Throws Error(out_of_memory) when the device
  // has less than it says.
  virtual std::unique_ptr<DeviceProgram> program(DeviceResources& device, Mode mode,
                                                 const Capacity& capacity) = 0;
  // Host memory that transfers read from or write to: pinned in place by the executor for as long
  // as the workload lives.
  virtual std::span<const std::byte> transfer_memory() const = 0;
  virtual void begin_sample() = 0;  // forget the partials of the sample before
  virtual void merge() = 0;         // combine the partials on the host; the result is complete
  virtual std::string digest() const = 0;  // lower-case hex of the merged result
  // Against a reference that shares no code with the kernels or merge(). Slow parts of the
  // reference are computed once and cached.
  virtual Verdict verify(VerifyLevel level, std::uint64_t seed) = 0;
  virtual void write_result(
      const std::filesystem::path& file) const = 0;  // --output; throws Error(output)

  // Each null where the workload does not have it.
  IterativeWorkload* iterative() { return interfaces().iterative; }
  MovableWorkload* movable() { return interfaces().movable; }
  StagedWorkload* staged() { return interfaces().staged; }
  PeerExchange* exchange() { return interfaces().exchange; }
  DeviceMerge* device_merge() { return interfaces().device_merge; }
  TimedMerge* timed_merge() { return interfaces().timed_merge; }
  Tunable* tunable() { return interfaces().tunable; }
  SizedByDevices* sized_by_devices() { return interfaces().sized_by_devices; }

  // Watches what it does on the host from now on.
  void set_host_watch(HostWatch watch) { host_watch_ = std::move(watch); }

 protected:
  const HostWatch& host_watch() const { return host_watch_; }

 private:
  HostWatch host_watch_;
};

// Returns what an item costs in this mode, on as many devices as were set last.
inline ItemCost cost_of(Workload& workload, Mode mode) {
  SizedByDevices* const sized = workload.sized_by_devices();
  return sized != nullptr ? sized->cost(mode) : workload.shape().cost;
}

// An option of one suite: `--tree plain|rfc6962`. The first value is the default.
struct SuiteOption {
  // name: one of `values`. count: one of them, or a count as parse_count reads it; kept as plain
  // digits. number: any finite number. file: one of them, or the name of a readable file. text:
  // any. flag: takes no value; `values` are no and yes.
  enum class Kind { name, count, number, file, text, flag };
  std::string name, help;
  std::vector<std::string> values;
  Kind kind = Kind::name;
};

// What a suite keeps of an input file once it is read.
class InputData {
 public:
  virtual ~InputData() = default;
};

struct DeviceMemory {
  Bytes global = 0, allocation = 0;  // in all, and the largest piece
};

// One problem as asked for. `options` is complete, but a flag is there only where it is given:
// results of a version that did not have it yet stay comparable. `input` empty: seeded random data.
struct SuiteParams {
  std::uint64_t size = 0;
  std::uint64_t seed = 0;
  std::map<std::string, std::string> options;
  std::optional<std::filesystem::path> input;
  std::vector<std::filesystem::path> more_inputs;  // --input FILE,FILE,..: those after the first
  std::shared_ptr<InputData>
      input_data;  // left by size_of_input for `make`, where finding the size takes reading it all
  unsigned host_threads = 1;
  std::size_t devices = 1;           // of the set: most that will share the problem
  bool cpus = false;                 // all of them
  std::vector<DeviceMemory> memory;  // of each of them; none: not known

  bool has_flag(const std::string& name) const {
    const auto found = options.find(name);
    return found != options.end() && found->second == "yes";
  }
};

struct SuiteInfo {
  std::string name, summary;
  std::string size_name;           // what --size counts: "leaves"
  std::uint64_t default_size = 0;  // where no rate is known that a size could be chosen by
  std::uint64_t quick_size = 0;    // with --quick
  unsigned sizes_per_doubling =
      1;  // of the grid of sizes chosen for it: 1, 2, 4, ...; 2: 2, 3, 4, 6, ...
  std::uint64_t full_size =
      0;  // fills any GPU, so that its rate there is the device's; 0: default_size
  Bytes full_bytes =
      0;  // and that takes this much at least: rates beyond a GPU's caches. Needs `host_bytes`
  std::uint64_t full_size_cpu = 0;  // likewise, of CPUs; 0: quick_size
  std::vector<SuiteOption> options;
  std::vector<Mode> modes = {Mode::resident,
                             Mode::end_to_end};  // and its own; others asked for are left out
  std::size_t inputs = 1;                        // how many files --input takes at most
  std::string input;                             // what they hold, for people
  bool measures_nothing = false;                 // size 0 has a result, too
  bool has_kernel_variants =
      false;  // its workloads have some that `calibrate --tune` chooses among
  std::vector<std::string> tuned_options;  // each value of these is tuned for itself; other options
                                           // do not change what is best
  // Host memory one problem of this size takes, for a check before anything is allocated. Every
  // suite of the tool has it.
  Bytes (*host_bytes)(const SuiteParams&) = nullptr;
  // The size that --input gives; all but `size` is set. Throws Error(input). Every suite of the
  // tool has it.
  std::uint64_t (*size_of_input)(SuiteParams&) = nullptr;
  // Cheap, before anything is allocated: Error(usage) for a size or option it cannot do. Once more
  // when devices are chosen (SuiteParams::memory), with a size that was given.
  void (*check)(const SuiteParams&) = nullptr;
  // The shape of a workload of seeded data, before anything is allocated; null: no size is chosen
  // for this suite, it is the default one. Throws what `check` throws.
  Shape (*shape)(const SuiteParams&) = nullptr;
  // Throws Error(input) for a file it cannot read, and what `check` throws.
  std::function<std::unique_ptr<Workload>(const SuiteParams&)> make;

  // Groups the hooks that only some suites need; null: nothing is to be done.
  struct OptionalHooks {
    // Returns `full_size` or `full_size_cpu` for these options: a side means less of a plane than
    // of a box.
    std::uint64_t (*full_size_of)(const SuiteParams&) = nullptr;
    // Returns what is to be doubted of the results of a problem that can be done, a line each:
    // `run` warns of it.
    std::vector<std::string> (*caveats)(const SuiteParams&) = nullptr;
    // After `check`: puts what the options left open into them, for the record.
    void (*resolve)(SuiteParams&) = nullptr;
    // Makes a problem short whose rate alone is asked for, at the reference size: by fewer rounds,
    // say.
    void (*make_short)(SuiteParams&) = nullptr;
    // Puts what only devices can tell into options that leave it open: the devices of the set are
    // opened, `make` comes later. `group`: that these devices exchange data in, in their order;
    // null: they cannot. Blocks. Throws Error(device), Error(timeout), Error(out_of_memory),
    // Error(unsupported); the options are then left as they are.
    void (*resolve_with_devices)(SuiteParams&, std::span<DeviceResources* const> devices,
                                 PeerGroup* group) = nullptr;
  } optional;

  // Belongs to a suite whose problems are described in files of users.
  struct Descriptors {
    std::string option;  // that names the file: where no suite is named, the run is of this one
    // Returns the size it has without --size, that with --quick, and what tells its work from other
    // work of the suite. Throws what `check` throws.
    struct OwnProblem {
      std::uint64_t size = 0, quick_size = 0;
      std::string work;
    };
    OwnProblem (*problem)(const SuiteParams&) = nullptr;
    // Returns the options of each problem, if the value of an option stands for several. Throws
    // Error(usage).
    std::vector<std::map<std::string, std::string>> (*swept)(
        const std::map<std::string, std::string>& options) = nullptr;
    // `init`: a first file for that option, for what the user has. Throws Error(input),
    // Error(unsupported).
    struct TemplateRequest {
      std::filesystem::path file;
      std::string entry, options;
    };
    std::string (*make_template)(DeviceResources&, const TemplateRequest&) = nullptr;
  };
  std::optional<Descriptors> descriptors;
};

}  // namespace mgpu
