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
#include "lib/base/ids.hpp"
#include "lib/plan/slice_source.hpp"
#include "lib/workload/host_watch.hpp"
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
  // the host, so that a sample that loses a device begins again from there.
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
  // Which of Workload::kernel_variants it takes, for the record; empty: there is but one.
  virtual std::string kernel_variant() const { return {}; }
  // Before anything is measured: does the device compute what this program relies on? Compilers for
  // integer code have failed at that. self_tested(), when those commands are complete, throws
  // Error(unsupported): the device is then refused for this problem.
  virtual void self_test(Stream&) {}
  virtual void self_tested() {}
  virtual void load(Stream& stream) = 0;     // before the samples, but for end to end: inputs that
                                             // stay on the device
  virtual void prepare(Stream& stream) = 0;  // at the start of a sample: clear what was
                                             // accumulated; end to end: replicated inputs
  virtual void enqueue(const Slice& slice, unsigned slot, Stream& stream) = 0;
  // Of work that goes in rounds: enqueue() brings the slice to its initial state, then comes each
  // round, beginning with 0.
  virtual void enqueue_round(const Slice&, std::uint32_t /*round*/, Stream&) {
    throw Error(ErrorKind::internal, "this program knows no rounds");
  }
  // Round `first` and, where the program does several by one launch, up to `most` - 1 of those
  // after it. How many it was.
  virtual std::uint32_t enqueue_rounds(const Slice& slice, std::uint32_t first,
                                       std::uint32_t /*most*/, Stream& stream) {
    enqueue_round(slice, first, stream);
    return 1;
  }
  // When so many rounds are done: its share was `from`, and is `to` from now on. Sends the others
  // what they have now, and waits for what it has, as Workload::move has it.
  virtual void move(const Slice& /*from*/, const Slice& /*to*/, std::uint32_t /*rounds*/, Stream&) {
    throw Error(ErrorKind::internal, "this program cannot move its state");
  }
  // When so many rounds are done (Shape::checkpoint_rounds): the slice's state to where the
  // workload keeps it. Later rounds may follow before that has ended. Once those commands are
  // complete, checkpointed().
  virtual void checkpoint(const Slice&, std::uint32_t /*rounds*/, Stream&) {
    throw Error(ErrorKind::internal, "this program keeps no checkpoints");
  }
  virtual void checkpointed(const Slice&, std::uint32_t /*rounds*/) {}
  virtual Brings brings() const { return Brings::collect; }
  // Brings::slice: the commands of this slice are complete. Brings::collect: after the device's
  // last slice, and perhaps more than once, collect() reduces what it accumulated and brings it to
  // the host; once those commands are complete, collected() hands the partials to the workload.
  virtual void finished(const Slice&) {}
  virtual void collect(Stream&) {}
  virtual void collected() {}
  // Of a workload that combines(): when all devices have collected, brings what is left on this one
  // to the host; `together`: it is combined with the others' first, and each brings a part of the
  // result. Once those commands are complete, brought(); merge() comes when all devices have
  // brought theirs. May be called again, after others were lost and this device did their part.
  virtual void bring(bool /*together*/, Stream&) {}
  virtual void brought() {}
  // Outside the sample: bring to the host what verify() wants beyond the partials.
  virtual void publish(Stream&) {}
  virtual void published() {}
  // Workload::merge on this device: combine partials given to the workload; both are called only if
  // merge_on_device() said yes, or merges_on_host() said no.
  virtual void merge(Stream&) {
    throw Error(ErrorKind::internal, "this program merges on the host");
  }
  virtual void merged() {}
};

enum class VerifyLevel { full, sample, off };

struct Verdict {
  enum class Status { passed, failed, off } status = Status::off;
  std::string method;   // what it was compared with, for a person; off: why with nothing
  std::string message;  // when failed: what differed
  Findings found{};     // when passed; times are left to who records it
};

// What devices exchange in samples of a workload.
struct Exchanged {
  bool inputs = false;  // `cost.replicated`: each brings a part of it, and they gather the rest
                        // (lib/exchange/replicated_input.hpp)
  Bytes part =
      0;  // of the result: parts of so many bytes are combined among the devices; 0: they are not
  // After so many rounds each sends so many bytes to its neighbours, without which devices cannot
  // share a sample.
  std::uint32_t rounds = 0;
  Bytes halo = 0;
  // Where all paths are direct, kernels of the rounds send halos and compute what needs none of
  // them meanwhile.
  bool hides_halos = false;
  bool any() const { return inputs || part > 0 || rounds > 0; }
};

// Of items, for a sample that goes in rounds.
struct Owner {
  DeviceIndex device;  // in the group that exchanges data
  Slice items;
};

class Workload {
 public:
  virtual ~Workload() = default;
  virtual const Shape& shape() const = 0;
  virtual ItemCost cost(Mode) const {
    return shape().cost;
  }  // where a mode sends less than all inputs
  virtual Capacity capacity(const DeviceTraits& device, Mode mode) const = 0;
  virtual Demand demand(const DeviceTraits&) const {
    return {};
  }  // none given: no fraction of a roofline is recorded
  // Largest slice it will be given: `capacity.fits`. Throws Error(out_of_memory) when the device
  // has less than it says.
  virtual std::unique_ptr<DeviceProgram> program(DeviceResources& device, Mode mode,
                                                 const Capacity& capacity) = 0;
  // Where several kernels, tiles or settings compute the same on a device: their names, the one
  // taken by default first. `calibrate
  // --tune` measures them and caches the fastest that verifies.
  virtual std::vector<std::string> kernel_variants(const DeviceTraits&) const { return {}; }
  // Programs made from now on for this device take that kernel variant, where it suits the problem.
  // False: the device has none of that name.
  virtual bool prefer(const DeviceTraits&, const std::string& /*variant*/) { return false; }

  // Host memory that transfers read from or write to: pinned in place by the executor for as long
  // as the workload lives.
  virtual std::span<const std::byte> transfer_memory() const = 0;

  // What devices that exchange data (lib/workload/peers.hpp) would do faster in this mode.
  virtual Exchanged exchanged(Mode) const { return {}; }
  // Before programs are made: their devices have an end of this group (DeviceResources::peer).
  // Throws what PeerGroup::allocate does.
  virtual void connect(PeerGroup&) {}
  // When programs are gone: frees what it allocated of the group, which may be gone before, once a
  // device of it was lost.
  virtual void disconnect() {}
  // In samples whose devices exchange data: do partials stay on the devices until all are there, to
  // be combined among them (DeviceProgram::bring)?
  virtual bool combines() const { return false; }
  // Before begin_sample: those of the group that share the sample. None: nothing is exchanged in
  // it.
  virtual void exchange_among(std::span<const DeviceIndex> /*members*/) {}

  // Of work that goes in rounds, before begin_sample: who owns which items for the sample, in the
  // order of the items. None: slices are by themselves, which tells what they cost, and have no
  // neighbours.
  virtual void own(std::span<const Owner>) {}

  // Likewise, where items are stages of a chain (StageTimes): what programs measured when they were
  // made, of devices by DeviceTraits::id. None: items are alike, or nothing is known of one of
  // these devices.
  virtual std::optional<ChainEstimate> chain(std::span<const std::string>) const {
    return std::nullopt;
  }

  // Likewise between rounds, while none is under way: from now on these own the items, each has
  // some and had some before. False: they stay where they are.
  virtual bool move(std::span<const Owner>) { return false; }

  // Before begin_sample: so many devices share the sample, where that decides how it is computed.
  virtual void expect(std::size_t) {}
  virtual void begin_sample() = 0;  // forget the partials of the sample before
  // Of work that goes in rounds: a sample that lost a device is begun again by others, from the
  // last checkpoint that is complete; how many rounds are done there. begin_again() is called
  // instead of begin_sample(), and enqueue() then brings a slice to that state.
  virtual std::uint32_t rounds_kept() const { return 0; }
  virtual void begin_again() { begin_sample(); }
  // May a device bring the checkpoint of so many rounds to the host, or has another one not done
  // the one before?
  virtual bool may_checkpoint(std::uint32_t /*rounds*/) const { return true; }
  // All partials are here: would the device be faster than the host?
  virtual bool merge_on_device(const DeviceTraits&) const { return false; }
  // False: merge() is never called, as only devices know how partials combine. Whichever is left
  // then merges, whatever merge_on_device() says of it.
  virtual bool merges_on_host() const { return true; }
  virtual void merge() = 0;  // combine the partials on the host; the result is complete
  virtual MergeEstimate merge_estimate() const {
    return {};
  }                                        // what merge() costs; nothing by default
  virtual std::string digest() const = 0;  // lower-case hex of the merged result
  // Against a reference that shares no code with the kernels or merge(). Slow parts of the
  // reference are computed once and cached.
  virtual Verdict verify(VerifyLevel level, std::uint64_t seed) = 0;
  virtual void write_result(
      const std::filesystem::path& file) const = 0;  // --output; throws Error(output)
  // What its data make doubtful of results, a line each: known, and told, before anything is
  // measured.
  virtual std::vector<std::string> caveats() const { return {}; }
  // Watches what it does on the host from now on.
  void set_host_watch(HostWatch watch) { host_watch_ = std::move(watch); }

 protected:
  const HostWatch& host_watch() const { return host_watch_; }

 private:
  HostWatch host_watch_;
};

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
  // Where options change which size that is, as a side means less of a plane than of a box: of
  // `cpus` or of GPUs. Null: they do not.
  std::uint64_t (*full_size_of)(const SuiteParams&) = nullptr;
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
  // What is to be doubted of the results of a problem that can be done, a line each: `run` warns of
  // it. Null: nothing is.
  std::vector<std::string> (*doubts)(const SuiteParams&) = nullptr;
  // After `check`: puts what the options left open into them, for the record. Null: nothing is left
  // open.
  void (*resolve)(SuiteParams&) = nullptr;
  // Makes a problem short whose rate alone is asked for, at the reference size: by fewer rounds,
  // say. Null: it is short.
  void (*shorten)(SuiteParams&) = nullptr;
  // With the devices of the set opened, before `make`: puts what only devices can tell into options
  // that leave it open. `group`: that these devices exchange data in, in their order; null: they
  // cannot. Blocks. Throws Error(device), Error(timeout), Error(out_of_memory), Error(unsupported);
  // the options are then left as they are. Null: nothing is left open.
  void (*settle)(SuiteParams&, std::span<DeviceResources* const> devices,
                 PeerGroup* group) = nullptr;
  // Where the value of an option stands for several problems: the options of each. Null: none does.
  // Throws Error(usage).
  std::vector<std::map<std::string, std::string>> (*swept)(
      const std::map<std::string, std::string>& options) = nullptr;
  // Where an option names what is computed: the size it has without --size, that with --quick, and
  // what tells its work from other work of the suite. Null, or nothing: sizes are chosen by rates.
  // Throws what `check` throws.
  struct OwnProblem {
    std::uint64_t size = 0, quick_size = 0;
    std::string work;
  };
  std::optional<OwnProblem> (*own)(const SuiteParams&) = nullptr;
  std::string chosen_by;  // an option that, where no suite is named, says that the run is of this
                          // one; empty: none
  // `init`: a first file for that option, for what the user has. Null: it takes none. Throws
  // Error(input), Error(unsupported).
  struct FirstFile {
    std::filesystem::path file;
    std::string entry, options;
  };
  std::string (*first_file)(DeviceResources&, const FirstFile&) = nullptr;
  // The shape of a workload of seeded data, before anything is allocated; null: no size is chosen
  // for this suite, it is the default one. Throws what `check` throws.
  Shape (*shape)(const SuiteParams&) = nullptr;
  // Throws Error(input) for a file it cannot read, and what `check` throws.
  std::function<std::unique_ptr<Workload>(const SuiteParams&)> make;
};

}  // namespace mgpu
