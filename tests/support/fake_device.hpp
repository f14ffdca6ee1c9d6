// An opened device of the fake backend. Data moves when a command is enqueued, or when the signal
// that it waits for is enqueued; time advances when the command ends. The order of commands in
// their queues makes the two indistinguishable to a program that keeps the rules of Stream and
// Peer. The end of a command becomes known only as time passes, since transfers that begin later
// may slow down those under way.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/exec/driver_call.hpp"
#include "tests/support/fake_machine.hpp"

namespace mgpu {

inline const Name kSlowDown("slow-down"), kDelay("delay"), kPut("put"), kSignal("signal"),
    kWait("wait");

using FakeMemory = FreedMemory<std::vector<std::byte>>;

class FakeBuffer final : public Buffer {
 public:
  FakeBuffer(std::vector<std::byte> data, std::shared_ptr<FakeMemory> memory)
      : data_(std::move(data)), memory_(std::move(memory)) {
    memory_->add(data_.size());
  }
  ~FakeBuffer() override {
    memory_->remove(data_.size());
    const Bytes size = data_.size();
    memory_->put(std::move(data_), size);
  }
  Bytes size() const override { return data_.size(); }
  std::span<std::byte> data() { return data_; }

 private:
  std::vector<std::byte> data_;
  std::shared_ptr<FakeMemory> memory_;
};

class FakeKernel final : public Kernel {
 public:
  FakeKernel(const std::string& name, const FakeKernelCode& code, const GroupLimits& limits)
      : Kernel(limits), name_(name), code_(code) {}
  Name name() const { return name_; }
  const FakeKernelCode& code() const { return code_; }

 private:
  Name name_;
  const FakeKernelCode& code_;
};

inline std::span<std::byte> data_of(Buffer& buffer) {
  return static_cast<FakeBuffer&>(buffer).data();
}

inline FakeArg fake_arg(const KernelArg& arg) {
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

class FakeStream : public Stream {
 public:
  virtual void pretend(CommandKind kind, Bytes bytes) = 0;
};

class OpenFake final : public OpenDevice, private DeviceResources, private FakeStream {
 public:
  OpenFake(const FakeDevice& spec, const Handicap& handicap, const FakeKernels& kernels,
           FakeBackend& backend, std::shared_ptr<FakeBackend::Machine> machine)
      : OpenDevice(handicap),
        spec_(spec),
        kernels_(kernels),
        backend_(backend),
        machine_(std::move(machine)),
        notifies_(spec.facts.is_cpu() && !backend.is_virtual()),
        index_(machine_->add_device(spec, notifies_ ? shared_notifier() : nullptr)),
        memory_(std::make_shared<FakeMemory>()) {
    memory_->keep(handicap.keeps_freed);
    spec_.facts = limited(spec.facts, handicap);
    traits_.id = spec_.facts.id;
    traits_.held = handicap.stalls();
    traits_.cpu = spec_.facts.is_cpu();
    traits_.compute_units = spec_.facts.compute_units;
    traits_.float_width = spec_.facts.native_float_width;
    traits_.max_work_group = spec_.facts.max_work_group;
    traits_.global_memory = spec_.facts.global_memory;
    traits_.max_allocation = spec_.facts.max_allocation;
    traits_.local_memory = spec_.facts.local_memory;
    traits_.fp64 = spec_.facts.fp64;
    traits_.fp32_denormals = spec_.facts.fp32_denormals;
    traits_.near_cpus = spec_.near_cpus;
  }

  DeviceResources& resources() override { return *this; }
  Stream& stream() override { return *this; }

  bool notifies() const override { return notifies_; }
  Nanos looked_at_every() const override {
    return std::chrono::hours(1);
  }  // notification never fails, nor may the workers
  void begin_slice() override { in_slice_ = true; }
  bool may_compile(BatchId batch) override { return find(batch)->compiles; }
  void abandon() override {}
  bool drained() override {
    end_kernels();
    for (Batch& each : closed_) note_ended(each);
    note_ended(open_);
    const auto over = [](const Batch& batch) { return batch.ended == batch.commands.size(); };
    return over(open_) && std::all_of(closed_.begin(), closed_.end(), over);
  }

  BatchId submit() override {
    end_kernels();
    in_slice_ = delayed_ = false;
    open_.id = next_batch_++;
    closed_.push_back(std::move(open_));
    open_ = Batch{};
    open_.first_tag = next_tag_;
    return {closed_.back().id};
  }

  bool complete(BatchId batch) override {
    check(FakeCall::wait);
    while (over_ < closed_.size() && closed_[over_].ended == closed_[over_].commands.size())
      ++over_;
    for (std::size_t i = over_; i < closed_.size(); ++i) note_ended(closed_[i]);
    const Batch& found = *find(batch);
    if (found.ended < found.commands.size()) return false;
    if (found.failed)
      throw Error(ErrorKind::device, "device " + spec_.facts.id + " failed, as its script says");
    return true;
  }

  DeviceSpan span(BatchId batch) override {
    DeviceSpan span;
    for (const RawCommand& command : find(batch)->commands) {
      span.started = span.ended == 0 ? command.started : std::min(span.started, command.started);
      span.ended = std::max(span.ended, command.ended);
    }
    return span;
  }

  std::vector<RawCommand> take(BatchId batch) override {
    check(FakeCall::take);
    const auto taken = find(batch);
    std::vector<RawCommand> commands = std::move(taken->commands);
    const auto not_slow = [](const RawCommand& command) {
      return command.label == kSlowDown && command.ended == command.started;
    };
    std::erase_if(commands, not_slow);
    if (static_cast<std::size_t>(taken - closed_.begin()) < over_) --over_;
    closed_.erase(taken);
    return commands;
  }

  std::vector<ClockProbe> probe_clock(unsigned count) override {
    check(FakeCall::probe_clock);
    const Nanos now = backend_.now();
    const std::uint64_t stamp = device_clock(now);
    return std::vector<ClockProbe>(count, ClockProbe{now, now, stamp, stamp});
  }

  SetupCost take_setup_cost() override {
    return {spec_.build, {}, memory_->in_use(), memory_->take_peak()};
  }
  Bytes free_memory() override { return spec_.facts.global_memory - memory_->in_use(); }

  // Adds the device to a group (tests/support/fake_peers.hpp). `order` runs a given action once
  // everything that this device waits for has arrived; without it actions run at once.
  using Order = std::function<void(std::function<void()>)>;
  void join(Peer* peer, Order order) {
    peer_ = peer;
    order_ = std::move(order);
  }
  DeviceIndex in_machine() const { return index_; }
  Bytes most_shared() const { return spec_.most_shared; }
  std::unique_ptr<Buffer> shared_piece(Bytes size) { return allocate(size); }
  void put(std::span<const std::byte> from, std::span<std::byte> to, const ExchangeInfo& info,
           const PeerLink& link) {
    const FakeFault fault = check(FakeCall::exchange);
    if (!fails(fault)) {
      perform([from, to, corrupt = fault.kind == FakeFault::Kind::corrupt] {
        std::copy(from.begin(), from.end(), to.begin());
        if (corrupt) flip_a_bit(to);
      });
    }
    add_put(from.size(), fault, info, link);
  }
  // Puts to a device of another process, by calling `sends`.
  void put_elsewhere(std::function<void()> sends, Bytes bytes, const ExchangeInfo& info,
                     const PeerLink& link) {
    const FakeFault fault = check(FakeCall::exchange);
    if (!fails(fault)) perform(std::move(sends));
    add_put(bytes, fault, info, link);
  }
  void pretend_put(Bytes bytes, const ExchangeInfo& info, const PeerLink& link) {
    add_put(bytes, check(FakeCall::exchange), info, link);
  }
  void signal(FakeSignals& signals, const ExchangeInfo& info, Nanos latency) {
    const FakeFault fault = check(FakeCall::exchange);
    machine_->ends_with_signal(index_, next_tag_, signals);
    add(CommandKind::exchange, kSignal, 0, latency, fault, info);
  }
  void await(FakeSignals& signals, const ExchangeInfo& info) {
    machine_->waits_for_signal(index_, next_tag_, signals);
    add(CommandKind::exchange, kWait, 0, QueueModel::kForever, {}, info);
  }

 private:
  struct Batch {
    std::uint64_t id = 0;
    std::vector<RawCommand> commands;
    bool compiles = false;
    // Tag of its first command in the machine; the others have the next numbers.
    std::uint64_t first_tag = 0;
    std::size_t ended = 0;      // number of its first commands that are known to have ended
    Nanos slowed{};             // time of a slow-down that begins at that command
    bool has_duration = false;  // whether it was set after enqueueing
    bool failed = false;
  };

  const DeviceTraits& traits() const override { return traits_; }
  Peer* peer() override { return peer_; }

  std::unique_ptr<Buffer> allocate(Bytes size) override {
    check(FakeCall::allocate);
    if (auto kept = memory_->take(size))
      return std::make_unique<FakeBuffer>(std::move(*kept), memory_);
    const Bytes used = memory_->in_use() + size;
    if (used > spec_.facts.global_memory || size > spec_.facts.max_allocation) {
      throw Error(ErrorKind::out_of_memory, "device " + spec_.facts.id + " has no room for " +
                                                std::to_string(size) + " bytes");
    }
    memory_->evict_to(spec_.facts.global_memory - used);
    return std::make_unique<FakeBuffer>(std::vector<std::byte>(size), memory_);
  }

  std::unique_ptr<Kernel> kernel(std::string_view, std::string_view entry,
                                 const std::string&) override {
    check(FakeCall::build);
    const auto code = kernels_.find(std::string(entry));
    if (code == kernels_.end())
      throw Error(ErrorKind::device, "the fake backend has no kernel " + std::string(entry));
    return std::make_unique<FakeKernel>(code->first, code->second,
                                        GroupLimits{.all = traits_.max_work_group});
  }

  void upload(Buffer& to, Bytes offset, std::span<const std::byte> from) override {
    const FakeFault fault = check(FakeCall::upload);
    const auto target = data_of(to).subspan(offset, from.size());
    std::copy(from.begin(), from.end(), target.begin());
    if (fault.kind == FakeFault::Kind::corrupt) flip_a_bit(target);
    add(CommandKind::upload, {}, from.size(), spec_.transfer, fault);
  }

  void launch(Kernel& kernel, const Grid& grid, std::span<const KernelArg> args) override {
    const auto& fake = static_cast<FakeKernel&>(kernel);
    const Handicap& handicap = slow_down().handicap();
    if (in_slice_ && !std::exchange(delayed_, true) && handicap.delay > Nanos{})
      add(CommandKind::compute, kDelay, 0, handicap.delay);
    std::vector<FakeArg> values;
    for (const KernelArg& arg : args) values.push_back(fake_arg(arg));
    const bool compiles =
        spec_.compiles_at_launch && launched_.insert(std::string(fake.name().text())).second;
    open_.compiles |= compiles;
    const FakeFault fault = check(FakeCall::launch, compiles);
    if (!fails(fault)) perform([&code = fake.code(), grid, values] { code.run(grid, values); });
    const auto by_ops = [&] {
      return std::max(spec_.minimum_kernel,
                      spec_.launch + from_seconds(fake.code().ops(grid, values) / spec_.ops_per_s));
    };
    add(CommandKind::compute, fake.name(), 0,
        fake.code().time ? fake.code().time(values) : by_ops(), fault);
    slow_down_due_ = handicap.slows();
  }

  void download(Buffer& from, Bytes offset, std::span<std::byte> to) override {
    end_kernels();
    const FakeFault fault = check(FakeCall::download);
    const auto source = data_of(from).subspan(offset, to.size());
    if (!fails(fault)) {
      perform([source, to, corrupt = fault.kind == FakeFault::Kind::corrupt] {
        std::copy(source.begin(), source.end(), to.begin());
        if (corrupt) flip_a_bit(to);
      });
    }
    add(CommandKind::download, {}, to.size(), spec_.transfer, fault);
  }

  void pretend(CommandKind kind, Bytes bytes) override { add(kind, {}, bytes, spec_.transfer); }

  // Marks the end of a series of kernels, at the end of the batch or before a download. A slowed
  // device takes its extra time now; its length is known when the kernels have ended.
  void end_kernels() {
    if (std::exchange(slow_down_due_, false))
      add(CommandKind::compute, kSlowDown, 0, QueueModel::kForever);
  }

  void note_ended(Batch& batch) {
    const Nanos now = backend_.now();
    for (; batch.ended < batch.commands.size(); ++batch.ended) {
      RawCommand& command = batch.commands[batch.ended];
      const std::uint64_t tag = batch.first_tag + batch.ended;
      if (command.label == kSlowDown && !batch.has_duration)
        batch.has_duration = machine_->set_duration(index_, tag, batch.slowed, now);
      const auto times = machine_->take(index_, tag, now);
      if (!times) return;
      command.started = device_clock(times->started);
      command.ended = device_clock(times->ended);
      if (command.label == kSlowDown) {
        batch.slowed = Nanos{};
        batch.has_duration = false;
      } else if (command.kind == CommandKind::compute && command.label != kDelay) {
        batch.slowed += slow_down().extra(times->started, times->ended);
      }
    }
  }

  // Asks the script about a call and throws the faults of the call itself.
  FakeFault check(FakeCall call, bool compiles = false) {
    const DriverCall inside(this, compiles);
    const FakeFault fault = backend_.ask(spec_, call);
    const bool command = call == FakeCall::upload || call == FakeCall::launch ||
                         call == FakeCall::download || call == FakeCall::exchange;
    const std::string what = "device " + spec_.facts.id + " ";
    if (fault.kind == FakeFault::Kind::out_of_memory)
      throw Error(ErrorKind::out_of_memory, what + "has no memory left, as its script says");
    if (fault.kind == FakeFault::Kind::unsuited)
      throw Error(ErrorKind::unsupported, what + "does not suit the kernel, as its script says");
    if (fault.kind == FakeFault::Kind::refused ||
        (fault.kind == FakeFault::Kind::error && !command))
      throw Error(ErrorKind::device, what + "refused, as its script says");
    if (fault.kind == FakeFault::Kind::hang && !command)
      throw Error(ErrorKind::timeout, what + "does not answer, as its script says");
    return fault;
  }

  static bool fails(const FakeFault& fault) {
    return fault.kind == FakeFault::Kind::error || fault.kind == FakeFault::Kind::hang;
  }

  static void flip_a_bit(std::span<std::byte> data) {
    if (!data.empty()) data[data.size() / 2] ^= std::byte{1};
  }

  // Adds a command. `duration` is its time in addition to moving its bytes.
  void add(CommandKind kind, Name label, Bytes bytes, Nanos duration, const FakeFault& fault = {},
           const std::optional<ExchangeInfo>& exchange = {}) {
    open_.failed |= fails(fault);
    if (fault.kind == FakeFault::Kind::hang) duration = QueueModel::kForever;
    double moved = static_cast<double>(bytes);
    if (fault.kind == FakeFault::Kind::slow) {
      duration = from_seconds(seconds(duration) * fault.factor);
      moved *= fault.factor;
    }
    const Nanos now = backend_.now();
    const std::uint64_t stamp = device_clock(now);
    open_.commands.push_back({kind, label, bytes, stamp, stamp, 0, 0, 0, exchange});
    machine_->enqueue(index_, kind, duration, moved, next_tag_++, now);
  }

  void add_put(Bytes bytes, const FakeFault& fault, const ExchangeInfo& info,
               const PeerLink& link) {
    const double carried = link.bytes_per_s > 0 ? static_cast<double>(bytes) / link.bytes_per_s : 0;
    add(CommandKind::exchange, kPut, bytes, link.latency + from_seconds(carried), fault, info);
  }

  template <class Effect>
  void perform(Effect effect) {
    if (order_)
      order_(std::move(effect));
    else
      effect();
  }

  std::uint64_t device_clock(Nanos host) const {
    const auto ns = static_cast<double>(host.count());
    return static_cast<std::uint64_t>(host.count() + spec_.clock_offset_ns +
                                      static_cast<std::int64_t>(ns * spec_.clock_drift_ppb * 1e-9));
  }

  std::deque<Batch>::iterator find(BatchId batch) {
    const auto at = std::lower_bound(closed_.begin(), closed_.end(), batch.value,
                                     [](const Batch& b, std::uint64_t id) { return b.id < id; });
    if (at == closed_.end() || at->id != batch.value)
      throw Error(ErrorKind::internal, "batch taken twice");
    return at;
  }

  FakeDevice spec_;
  const FakeKernels& kernels_;
  FakeBackend& backend_;
  std::shared_ptr<FakeBackend::Machine> machine_;
  const bool notifies_;
  DeviceIndex index_;  // index in the machine
  std::shared_ptr<FakeMemory> memory_;
  Peer* peer_ = nullptr;  // null: it is in no group
  Order order_;
  DeviceTraits traits_;
  Batch open_;
  bool in_slice_ = false, delayed_ = false, slow_down_due_ = false;
  std::set<std::string> launched_;  // names of kernels
  std::uint64_t next_batch_ = 0, next_tag_ = 0;
  // Batches in the order of their numbers; iterative work leaves many until the sample is over.
  std::deque<Batch> closed_;
  std::size_t over_ = 0;  // number of the first batches in closed_ that are known to have ended
};

}  // namespace mgpu
