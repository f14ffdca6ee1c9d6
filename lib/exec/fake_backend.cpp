// See the header. Data moves when a command is enqueued, time when it would complete: the order of commands in their queues makes
// the two indistinguishable to a program that keeps the Stream's rules.
#include "lib/exec/fake_backend.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <utility>

#include "lib/base/error.hpp"

namespace mgpu {

struct FakeBackend::Timer {
  std::multiset<Nanos> completions;
};

namespace {

constexpr Nanos kNever{std::numeric_limits<std::int64_t>::max()};

class FakeBuffer final : public Buffer {
 public:
  FakeBuffer(Bytes size, std::shared_ptr<Bytes> allocated) : data_(size), allocated_(std::move(allocated)) { *allocated_ += size; }
  ~FakeBuffer() override { *allocated_ -= data_.size(); }
  Bytes size() const override { return data_.size(); }
  std::span<std::byte> data() { return data_; }

 private:
  std::vector<std::byte> data_;
  std::shared_ptr<Bytes> allocated_;
};

class FakeKernel final : public Kernel {
 public:
  FakeKernel(std::string name, const FakeKernelCode& code) : name_(std::move(name)), code_(code) {}
  const std::string& name() const { return name_; }
  const FakeKernelCode& code() const { return code_; }

 private:
  std::string name_;
  const FakeKernelCode& code_;
};

std::span<std::byte> data_of(Buffer& buffer) { return static_cast<FakeBuffer&>(buffer).data(); }

FakeArg fake_arg(const KernelArg& arg) {
  return std::visit(
      [](const auto& value) -> FakeArg {
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>, Buffer*>) {
          return data_of(*value);
        } else {
          return value;
        }
      },
      arg);
}

class OpenFake final : public OpenDevice, private DeviceResources, private Stream {
 public:
  OpenFake(const FakeDevice& spec, const Handicap& handicap, const FakeKernels& kernels, FakeBackend& backend,
           std::shared_ptr<FakeBackend::Timer> timer)
      : OpenDevice(handicap),
        spec_(spec),
        kernels_(kernels),
        backend_(backend),
        timer_(std::move(timer)),
        allocated_(std::make_shared<Bytes>(0)) {
    spec_.facts = limited(spec.facts, handicap);
    traits_.cpu = spec_.facts.is_cpu();
    traits_.compute_units = spec_.facts.compute_units;
    traits_.float_width = spec_.facts.native_float_width;
    traits_.max_work_group = spec_.facts.max_work_group;
    traits_.global_memory = spec_.facts.global_memory;
    traits_.max_allocation = spec_.facts.max_allocation;
    traits_.local_memory = spec_.facts.local_memory;
    traits_.fp64 = spec_.facts.fp64;
  }

  DeviceResources& resources() override { return *this; }
  Stream& stream() override { return *this; }

  void begin_slice(unsigned lane) override {
    in_slice_ = true;
    // As on OpenCL, a device that is held back has one compute queue.
    second_ = lane == 1 && spec_.compute_queues > 1 && !pace().handicap().holds();
  }
  void abandon() override {}

  BatchId submit() override {
    end_kernels();
    in_slice_ = delayed_ = second_ = false;
    const std::uint64_t id = batches_.back().id;
    batches_.emplace_back().id = id + 1;
    return {id};
  }

  bool complete(BatchId batch) override {
    follow_pace();
    const Batch& found = find(batch);
    if (found.end > backend_.now()) return false;
    if (found.failed) throw Error(ErrorKind::device, "device " + spec_.facts.id + " failed, as its script says");
    return true;
  }

  DeviceSpan span(BatchId batch) override {
    DeviceSpan span;
    for (const Timed& timed : find(batch).commands) {
      const std::uint64_t started = device_clock(timed.start), ended = device_clock(timed.end);
      span.started = span.ended == 0 ? started : std::min(span.started, started);
      span.ended = std::max(span.ended, ended);
    }
    return span;
  }

  std::vector<RawCommand> take(BatchId batch) override {
    std::vector<RawCommand> commands;
    for (Timed& timed : find(batch).commands) {
      settled_[timed.queue] = std::max(settled_[timed.queue], timed.end);
      if (timed.hold == Timed::Hold::slow_down && timed.end == timed.start) continue;  // not slow yet
      timed.command.queued = timed.command.submitted = device_clock(timed.enqueued);
      timed.command.started = device_clock(timed.start);
      timed.command.ended = device_clock(timed.end);
      commands.push_back(std::move(timed.command));
    }
    std::erase_if(batches_, [&](const Batch& b) { return b.id == batch.value; });
    return commands;
  }

  std::vector<ClockProbe> probe_clock(unsigned count) override {
    const Nanos now = backend_.now();
    const std::uint64_t stamp = device_clock(now);
    return std::vector<ClockProbe>(count, ClockProbe{now, now, stamp, stamp});
  }

  SetupCost take_setup_cost() override { return {{}, {}, *allocated_}; }

 private:
  struct Timed {
    RawCommand command;     // its stamps are made when it is taken
    std::size_t queue = 0;  // as in queue_end_
    bool of_slice = false;
    Nanos enqueued{}, latency{}, duration{};                       // latency: of a kernel, before its ops
    enum class Hold { none, delay, slow_down } hold = Hold::none;  // a slow-down lasts as long as the kernels before it make it
    Nanos start{}, end{};
  };
  struct Batch {
    std::uint64_t id = 0;
    std::vector<Timed> commands;
    Nanos end{};
    bool failed = false;
  };

  const DeviceTraits& traits() const override { return traits_; }

  std::unique_ptr<Buffer> allocate(Bytes size) override {
    if (*allocated_ + size > spec_.facts.global_memory || size > spec_.facts.max_allocation) {
      throw Error(ErrorKind::out_of_memory, "device " + spec_.facts.id + " has no room for " + std::to_string(size) + " bytes");
    }
    return std::make_unique<FakeBuffer>(size, allocated_);
  }

  std::unique_ptr<Kernel> kernel(std::string_view, std::string_view entry, const std::string&) override {
    const auto code = kernels_.find(std::string(entry));
    if (code == kernels_.end()) throw Error(ErrorKind::device, "the fake backend has no kernel " + std::string(entry));
    return std::make_unique<FakeKernel>(code->first, code->second);
  }

  void upload(Buffer& to, Bytes offset, std::span<const std::byte> from) override {
    std::copy(from.begin(), from.end(), data_of(to).subspan(offset, from.size()).begin());
    add(CommandKind::upload, {}, from.size(), from_seconds(static_cast<double>(from.size()) / spec_.up));
  }

  void launch(Kernel& kernel, const Grid& grid, std::initializer_list<KernelArg> args) override {
    const auto& fake = static_cast<FakeKernel&>(kernel);
    const Handicap& handicap = pace().handicap();
    if (in_slice_ && handicap.delay > Nanos{} && !delayed_)
      add(CommandKind::compute, "delay", 0, handicap.delay, Timed::Hold::delay);
    delayed_ = true;
    std::vector<FakeArg> values;
    for (const KernelArg& arg : args) values.push_back(fake_arg(arg));
    const bool fails = spec_.failure != FakeDevice::Failure::none && launches_++ >= spec_.fails_at_launch;
    if (!fails) fake.code().run(grid, values);
    Nanos duration = from_seconds(fake.code().ops(grid, values) / spec_.ops_per_s);
    if (fails) {
      batches_.back().failed = true;
      if (spec_.failure == FakeDevice::Failure::hang) duration = kNever;
    }
    add(CommandKind::compute, fake.name(), 0, duration, Timed::Hold::none, spec_.launch);
    slow_down_due_ = handicap.slows();
  }

  void download(Buffer& from, Bytes offset, std::span<std::byte> to) override {
    end_kernels();
    const auto source = data_of(from).subspan(offset, to.size());
    std::copy(source.begin(), source.end(), to.begin());
    add(CommandKind::download, {}, to.size(), from_seconds(static_cast<double>(to.size()) / spec_.down));
  }

  // Kernels are over, of the batch or before a download: a slowed device takes its time now.
  void end_kernels() {
    if (std::exchange(slow_down_due_, false)) add(CommandKind::compute, "slow-down", 0, Nanos{}, Timed::Hold::slow_down);
  }

  void add(CommandKind kind, std::string label, Bytes bytes, Nanos duration, Timed::Hold hold = Timed::Hold::none,
           Nanos latency = {}) {
    follow_pace();
    Timed timed;
    timed.command.kind = kind;
    timed.command.label = std::move(label);
    timed.command.bytes = bytes;
    timed.queue = static_cast<std::size_t>(kind);
    if (kind == CommandKind::compute && second_) timed.queue = kSecondCompute;
    timed.command.queue = timed.queue == kSecondCompute ? 1 : 0;
    timed.of_slice = in_slice_;
    timed.enqueued = backend_.now();
    timed.latency = latency;
    timed.duration = duration;
    timed.hold = hold;
    batches_.back().commands.push_back(std::move(timed));
    schedule(batches_.back(), batches_.back().commands.back());
  }

  // When the queues and what they wait for let the command begin.
  Nanos ready(const Timed& timed) const {
    const Nanos at = std::max({timed.enqueued, queue_end_[timed.queue], queue_end_[0]});
    if (timed.command.kind == CommandKind::upload) return at;
    if (!timed.of_slice) return std::max({at, queue_end_[kFirstCompute], queue_end_[kSecondCompute]});
    if (timed.command.kind == CommandKind::download) return std::max(at, queue_end_[slice_queue_]);
    return timed.queue == kSecondCompute ? std::max(at, fence_) : at;
  }

  void schedule(Batch& batch, Timed& timed) {
    const bool compute = timed.command.kind == CommandKind::compute, kernel = compute && timed.hold == Timed::Hold::none;
    timed.start = ready(timed);
    if (timed.hold == Timed::Hold::slow_down) timed.duration = std::exchange(slowed_, Nanos{});
    const Nanos others = kernel ? ops_end_ : Nanos{};  // kernels of the other queue whose ops come first
    const bool never = timed.duration == kNever || timed.start == kNever || others == kNever;
    timed.end = never ? kNever : std::max(timed.start + timed.latency, others) + timed.duration;
    if (kernel && timed.end != kNever) slowed_ += pace().extra(timed.start, timed.end);
    if (kernel) ops_end_ = timed.end;
    if (compute) slice_queue_ = timed.queue;
    if (compute && !timed.of_slice) fence_ = timed.end;
    queue_end_[timed.queue] = timed.end;
    batch.end = std::max(batch.end, timed.end);
    if (timed.end != kNever && backend_.is_virtual()) timer_->completions.insert(timed.end);
  }

  // A slow-down that begins now changes the times of what is enqueued but not over: the plan is made anew from what was taken on.
  void follow_pace() {
    if (!pace().from() || pace().from() == scheduled_from_) return;
    scheduled_from_ = pace().from();
    queue_end_ = settled_;
    slowed_ = Nanos{};
    ops_end_ = fence_ = std::max(settled_[kFirstCompute], settled_[kSecondCompute]);
    for (Batch& batch : batches_) {
      batch.end = Nanos{};
      for (Timed& timed : batch.commands) schedule(batch, timed);
    }
  }

  std::uint64_t device_clock(Nanos host) const {
    if (host == kNever) return std::numeric_limits<std::uint64_t>::max();
    const auto ns = static_cast<double>(host.count());
    return static_cast<std::uint64_t>(host.count() + spec_.clock_offset_ns +
                                      static_cast<std::int64_t>(ns * spec_.clock_drift_ppb * 1e-9));
  }

  Batch& find(BatchId batch) {
    const auto at = std::find_if(batches_.begin(), batches_.end(), [&](const Batch& b) { return b.id == batch.value; });
    if (at == batches_.end()) throw Error(ErrorKind::internal, "batch taken twice");
    return *at;
  }

  FakeDevice spec_;
  const FakeKernels& kernels_;
  FakeBackend& backend_;
  std::shared_ptr<FakeBackend::Timer> timer_;
  std::shared_ptr<Bytes> allocated_;
  DeviceTraits traits_;
  std::uint64_t launches_ = 0;
  std::deque<Batch> batches_ = std::deque<Batch>(1);  // the last is open
  // By CommandKind, the second compute queue last: the end of each queue, and of what was taken from it.
  static constexpr std::size_t kFirstCompute = 1, kSecondCompute = 3;
  std::array<Nanos, 4> queue_end_{}, settled_{};
  std::size_t slice_queue_ = kFirstCompute;  // of the last kernel
  Nanos ops_end_{};                          // of all kernels so far
  Nanos fence_{};                            // of those that are no slice's
  bool in_slice_ = false, second_ = false, delayed_ = false, slow_down_due_ = false;
  Nanos slowed_{};  // what the next slow-down lasts
  std::optional<Nanos> scheduled_from_;
};

}  // namespace

FakeBackend::FakeBackend(std::vector<FakeDevice> devices, FakeKernels kernels, FakeTime time)
    : time_(time), devices_(std::move(devices)), kernels_(std::move(kernels)), timer_(std::make_shared<Timer>()) {}

FakeBackend::~FakeBackend() = default;

Backend::Enumeration FakeBackend::enumerate() {
  Enumeration found;
  for (const FakeDevice& device : devices_) found.devices.push_back(device.facts);
  std::stable_sort(found.devices.begin(), found.devices.end(), [](const Device& a, const Device& b) { return a.score > b.score; });
  found.platforms = {"fake"};
  return found;
}

std::vector<Device> FakeBackend::split(const Device& device, unsigned parts) {
  throw Error(ErrorKind::unsupported, "device " + device.id + " cannot be split into " + std::to_string(parts) + " sub-devices");
}

std::unique_ptr<OpenDevice> FakeBackend::open(const Device& device, const Handicap& handicap) {
  const auto at = std::find_if(devices_.begin(), devices_.end(), [&](const FakeDevice& d) { return d.facts.id == device.id; });
  if (at == devices_.end()) throw Error(ErrorKind::internal, "device " + device.id + " was not enumerated");
  return std::make_unique<OpenFake>(*at, handicap, kernels_, *this, timer_);
}

std::unique_ptr<PinnedMemory> FakeBackend::pin(std::span<const std::byte>, std::span<OpenDevice* const>) { return nullptr; }

Nanos FakeBackend::now() {
  if (is_virtual()) return now_;
  return std::chrono::duration_cast<Nanos>(std::chrono::steady_clock::now().time_since_epoch());
}

bool FakeBackend::advance(std::optional<Nanos> limit) {
  if (!is_virtual()) return false;
  auto& completions = timer_->completions;
  completions.erase(completions.begin(), completions.upper_bound(now_));
  if (!completions.empty()) {
    now_ = *completions.begin();
    return true;
  }
  if (!limit || *limit <= now_) return false;
  now_ = *limit;
  return true;
}

}  // namespace mgpu
