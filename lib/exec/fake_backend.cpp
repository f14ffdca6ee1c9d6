// See the header. Data moves when a command is enqueued, time when it would complete: the order of commands in their queues makes
// the two indistinguishable to a program that keeps the Stream's rules.
#include "lib/exec/fake_backend.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <set>

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
  OpenFake(const FakeDevice& spec, const FakeKernels& kernels, FakeBackend& backend, std::shared_ptr<FakeBackend::Timer> timer)
      : spec_(spec), kernels_(kernels), backend_(backend), timer_(std::move(timer)), allocated_(std::make_shared<Bytes>(0)) {
    traits_.cpu = spec.facts.is_cpu();
    traits_.compute_units = spec.facts.compute_units;
    traits_.float_width = spec.facts.native_float_width;
    traits_.max_work_group = spec.facts.max_work_group;
    traits_.global_memory = spec.facts.global_memory;
    traits_.max_allocation = spec.facts.max_allocation;
    traits_.local_memory = spec.facts.local_memory;
    traits_.fp64 = spec.facts.fp64;
  }

  DeviceResources& resources() override { return *this; }
  Stream& stream() override { return *this; }

  BatchId submit() override {
    closed_.push_back({next_batch_, std::move(open_), open_end_, open_failed_});
    open_.clear();
    open_end_ = Nanos{};
    open_failed_ = false;
    return {next_batch_++};
  }

  bool complete(BatchId batch) override {
    const Batch& found = find(batch);
    if (found.end > backend_.now()) return false;
    if (found.failed) throw Error(ErrorKind::device, "device " + spec_.facts.id + " failed, as its script says");
    return true;
  }

  DeviceSpan span(BatchId batch) override {
    DeviceSpan span;
    for (const RawCommand& command : find(batch).commands) {
      span.started = span.ended == 0 ? command.started : std::min(span.started, command.started);
      span.ended = std::max(span.ended, command.ended);
    }
    return span;
  }

  std::vector<RawCommand> take(BatchId batch) override {
    std::vector<RawCommand> commands = std::move(find(batch).commands);
    std::erase_if(closed_, [&](const Batch& b) { return b.id == batch.value; });
    return commands;
  }

  std::vector<ClockProbe> probe_clock(unsigned count) override {
    const Nanos now = backend_.now();
    const std::uint64_t stamp = device_clock(now);
    return std::vector<ClockProbe>(count, ClockProbe{now, now, stamp, stamp});
  }

  SetupCost take_setup_cost() override { return {{}, {}, *allocated_}; }
  Bytes free_memory() override { return spec_.facts.global_memory - *allocated_; }

 private:
  struct Batch {
    std::uint64_t id = 0;
    std::vector<RawCommand> commands;
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
    std::vector<FakeArg> values;
    for (const KernelArg& arg : args) values.push_back(fake_arg(arg));
    const bool fails = spec_.failure != FakeDevice::Failure::none && launches_++ >= spec_.fails_at_launch;
    if (!fails) fake.code().run(grid, values);
    Nanos duration = spec_.launch + from_seconds(fake.code().ops(grid, values) / spec_.ops_per_s);
    if (fails) {
      open_failed_ = true;
      if (spec_.failure == FakeDevice::Failure::hang) duration = kNever;
    }
    add(CommandKind::compute, fake.name(), 0, duration);
  }

  void download(Buffer& from, Bytes offset, std::span<std::byte> to) override {
    const auto source = data_of(from).subspan(offset, to.size());
    std::copy(source.begin(), source.end(), to.begin());
    add(CommandKind::download, {}, to.size(), from_seconds(static_cast<double>(to.size()) / spec_.down));
  }

  void add(CommandKind kind, std::string label, Bytes bytes, Nanos duration) {
    const auto stage = static_cast<std::size_t>(kind);
    Nanos start = std::max(backend_.now(), queue_end_[stage]);
    if (stage > 0) start = std::max(start, queue_end_[stage - 1]);
    if (stage > 1) start = std::max(start, queue_end_[stage - 2]);
    const Nanos end = duration == kNever || start == kNever ? kNever : start + duration;
    queue_end_[stage] = end;
    open_end_ = std::max(open_end_, end);
    if (end != kNever && backend_.is_virtual()) timer_->completions.insert(end);
    const std::uint64_t now = device_clock(backend_.now());
    open_.push_back({kind, std::move(label), bytes, now, now, device_clock(start), device_clock(end)});
  }

  std::uint64_t device_clock(Nanos host) const {
    if (host == kNever) return std::numeric_limits<std::uint64_t>::max();
    const auto ns = static_cast<double>(host.count());
    return static_cast<std::uint64_t>(host.count() + spec_.clock_offset_ns +
                                      static_cast<std::int64_t>(ns * spec_.clock_drift_ppb * 1e-9));
  }

  Batch& find(BatchId batch) {
    const auto at = std::find_if(closed_.begin(), closed_.end(), [&](const Batch& b) { return b.id == batch.value; });
    if (at == closed_.end()) throw Error(ErrorKind::internal, "batch taken twice");
    return *at;
  }

  FakeDevice spec_;
  const FakeKernels& kernels_;
  FakeBackend& backend_;
  std::shared_ptr<FakeBackend::Timer> timer_;
  std::shared_ptr<Bytes> allocated_;
  DeviceTraits traits_;
  std::array<Nanos, 3> queue_end_{};  // by CommandKind
  std::vector<RawCommand> open_;
  Nanos open_end_{};
  bool open_failed_ = false;
  std::uint64_t next_batch_ = 0, launches_ = 0;
  std::vector<Batch> closed_;
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

std::unique_ptr<OpenDevice> FakeBackend::open(const Device& device) {
  const auto at = std::find_if(devices_.begin(), devices_.end(), [&](const FakeDevice& d) { return d.facts.id == device.id; });
  if (at == devices_.end()) throw Error(ErrorKind::internal, "device " + device.id + " was not enumerated");
  return std::make_unique<OpenFake>(*at, kernels_, *this, timer_);
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
