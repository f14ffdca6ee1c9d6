// See the header. Kernels are timed by the device's own stamps; transfers and launches by the host's clock, as a caller meets them.
#include "lib/exec/calibration.hpp"

#include <algorithm>
#include <barrier>
#include <bit>
#include <exception>
#include <functional>
#include <string>
#include <thread>

#include "lib/base/error.hpp"
#include "lib/base/stats.hpp"
#include "lib/workload/pages.hpp"
#include "lib/workload/parallel_for.hpp"

namespace mgpu {
namespace {

constexpr Nanos kPatience = std::chrono::seconds(20);
constexpr Nanos kLongEnough = std::chrono::milliseconds(2);  // of a kernel: a launch is 0.3 % of it, a time slice of Linux 4 ms
// Tries go on for this long, and are never fewer. Cores are shared with other processes, and longer with them.
constexpr Nanos kSampled = std::chrono::milliseconds(20), kSampledCpu = std::chrono::milliseconds(120);
constexpr unsigned kLeastTries = 5;
constexpr Nanos kWakeUp = std::chrono::milliseconds(60);  // a GPU that idled needs some milliseconds to reach its clock
constexpr unsigned kLaunches = 50, kTogether = 200;

// Of a transfer: 1.2 ms at 55 GB/s, 10 us of which are latency. On CPUs 6 ms at 5 GB/s, not much more than a time slice.
Bytes piece_for(const DeviceTraits& traits) { return std::min(Bytes{traits.cpu ? 32u : 64u} << 20, traits.max_allocation); }
// Polls until the batch is complete. `gently`: with pauses, as a CPU device needs its cores for its kernels.
void wait_for(Backend& backend, OpenDevice& device, BatchId batch, bool gently) {
  const Nanos begin = backend.now();
  while (!device.complete(batch)) {
    const bool never = backend.is_virtual() && !backend.advance(std::nullopt);
    if (never || backend.now() - begin > kPatience)
      throw Error(ErrorKind::timeout, "the device did not answer while it was calibrated");
    if (backend.is_virtual()) continue;
    if (gently)
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    else
      std::this_thread::yield();
  }
}

// What commands may be using: freed by clear() or at the end, but kept for ever when the device no longer answers, as releasing it
// can block and the device may still write to it.
class Holdings {
 public:
  Holdings() = default;
  Holdings(const Holdings&) = delete;
  Holdings& operator=(const Holdings&) = delete;
  ~Holdings() {
    if (!lost_) return;
    static auto& kept = *new std::vector<std::vector<std::shared_ptr<void>>>;  // one session's thread calibrates
    kept.push_back(std::move(held_));
  }
  template <class T>
  T& add(std::unique_ptr<T> object) {
    T& held = *object;
    held_.push_back(std::shared_ptr<T>(std::move(object)));
    return held;
  }
  void clear() { held_.clear(); }
  void keep_if(const Error& error) { lost_ |= error.kind() == ErrorKind::timeout; }

 private:
  std::vector<std::shared_ptr<void>> held_;
  bool lost_ = false;
};

// Memory for transfers, written as workloads write theirs, by all threads of the host: where there are several memories, each thread
// gets pages of its own. Pinned for `devices` when asked for, where that is of use.
class HostMemory {
 public:
  HostMemory(Backend& backend, Bytes size, std::span<OpenDevice* const> devices, bool pinned)
      : pages_(size, "transfers"), bytes_(pages_.data(), size) {
    constexpr Bytes at_once = Bytes{1} << 20;
    parallel_for((size + at_once - 1) / at_once, std::thread::hardware_concurrency(), [&](std::uint64_t chunk) {
      const auto mine = bytes_.subspan(chunk * at_once);
      std::fill_n(mine.begin(), std::min<Bytes>(at_once, mine.size()), std::byte{1});
    });
    if (pinned) pin_ = backend.pin(bytes_, devices);
  }
  bool pinned() const { return pin_ != nullptr; }
  std::span<std::byte> bytes() { return bytes_; }

 private:
  Pages pages_;
  std::span<std::byte> bytes_;
  std::unique_ptr<PinnedMemory> pin_;  // after what it pins: undone first
};

class DeviceCalibration {
 public:
  DeviceCalibration(Backend& backend, OpenDevice& device)
      : backend_(backend), device_(device), traits_(device.resources().traits()) {
    lanes_ = traits_.cpu ? width(traits_.float_width) : 1;
    group_ = traits_.cpu ? 1 : std::bit_floor(std::clamp<std::size_t>(traits_.max_work_group, 1, 256));
    // CPUs: many groups, so that a core that is late has fewer of them. GPUs: 2048 work-items a unit fill those of today.
    groups_ = std::max(1u, traits_.compute_units) * (traits_.cpu ? 16u : 8u);
    options_ = "-DFLOATS=" + vector_type("float", lanes_) + " -DUINTS=" + vector_type("uint", lanes_);
    if (traits_.fp64) options_ += " -DDOUBLES=" + vector_type("double", std::max(1u, lanes_ / 2));
    if (traits_.cpu) options_ += " -DLINEAR";
  }

  Capability measure() {
    Capability measured;
    const unsigned doubles = std::max(1u, lanes_ / 2);
    try {
      if (!traits_.cpu) wake_up();
      measured.fp32_flops = arithmetic("fp32", lanes_, 4, {0.999f, 0.001f});
      if (traits_.fp64) measured.fp64_flops = arithmetic("fp64", doubles, 8, {0.999, 0.001});
      measured.int32_ops = arithmetic("int32", lanes_, 4, {std::uint32_t{12345}});
      measured.memory_bytes_per_s = copy();
      transfers(measured);
      launches(measured);
    } catch (const Error& error) {
      holdings_.keep_if(error);
      throw;
    }
    return measured;
  }

 private:
  // As OpenCL has vectors: 1, 2, 4, 8 or 16 lanes.
  static unsigned width(unsigned native) {
    unsigned lanes = 1;
    while (lanes < 16 && lanes * 2 <= native) lanes *= 2;
    return lanes;
  }
  static std::string vector_type(const std::string& scalar, unsigned lanes) {
    return lanes == 1 ? scalar : scalar + std::to_string(lanes);
  }

  Kernel& kernel(std::string_view entry) { return holdings_.add(device_.resources().kernel(kCalibrationKernels, entry, options_)); }
  Buffer& buffer(Bytes size) { return holdings_.add(device_.resources().allocate(size)); }

  // Seconds of device time that what `enqueue` enqueues takes.
  double device_seconds(const std::function<void()>& enqueue) {
    enqueue();
    const BatchId batch = device_.submit();
    wait_for(backend_, device_, batch, traits_.cpu);
    const DeviceSpan span = device_.span(batch);
    device_.take(batch);
    return static_cast<double>(span.ended - span.started) * 1e-9;
  }

  Nanos host_time(const std::function<void()>& enqueue) {
    const Nanos begin = backend_.now();
    enqueue();
    const BatchId batch = device_.submit();
    wait_for(backend_, device_, batch, false);
    const Nanos spent = backend_.now() - begin;
    device_.take(batch);
    return spent;
  }

  // The least of several tries of `seconds_of`, in seconds.
  double best(const std::function<double()>& seconds_of) {
    const Nanos begin = backend_.now(), enough = traits_.cpu ? kSampledCpu : kSampled;
    double least = seconds_of();
    for (unsigned tries = 1; tries < kLeastTries || backend_.now() - begin < enough; ++tries) least = std::min(least, seconds_of());
    return std::max(least, 1e-9);
  }

  using Arguments = std::vector<KernelArg>;  // those that keep the compiler from knowing the numbers

  void enqueue_arithmetic(Kernel& object, Buffer& out, std::uint32_t loops, const Arguments& numbers) {
    const Grid grid{{groups_ * group_, 1, 1}, {group_, 1, 1}};
    if (numbers.size() == 1)
      device_.stream().launch(object, grid, {&out, loops, numbers[0]});
    else
      device_.stream().launch(object, grid, {&out, loops, numbers[0], numbers[1]});
  }

  // Operations per second of a kernel of multiply-adds, `lanes` of `size` bytes per work-item.
  double arithmetic(std::string_view entry, unsigned lanes, Bytes size, const Arguments& numbers) {
    Kernel& object = kernel(entry);
    Buffer& out = buffer(groups_ * group_ * lanes * size);
    const auto seconds_of = [&](std::uint32_t loops) {
      return device_seconds([&] { enqueue_arithmetic(object, out, loops, numbers); });
    };
    seconds_of(1);  // PoCL compiles for the grid now
    std::uint32_t loops = 1;
    constexpr std::uint32_t kMostLoops = 1u << 22;
    for (double spent = seconds_of(loops); spent < seconds(kLongEnough) && loops < kMostLoops; spent = seconds_of(loops)) {
      const double missing = 1.25 * seconds(kLongEnough) / std::max(spent, 1e-9);
      loops = static_cast<std::uint32_t>(std::min<double>(loops * std::clamp(missing, 2.0, 64.0), kMostLoops));
    }
    const double spent = best([&] { return seconds_of(loops); });
    holdings_.clear();
    return 2.0 * kCalibrationMultiplyAdds * loops * lanes * static_cast<double>(groups_ * group_) / spent;
  }

  void wake_up() {
    Kernel& object = kernel("fp32");
    Buffer& out = buffer(groups_ * group_ * lanes_ * sizeof(float));
    const Nanos begin = backend_.now();
    while (backend_.now() - begin < kWakeUp) device_seconds([&] { enqueue_arithmetic(object, out, 256, {0.999f, 0.001f}); });
    holdings_.clear();
  }

  // Bytes read and written per second. Far more than caches hold: 2 x 64 MiB, on GPUs 2 x 1 GiB (half a millisecond at 4 TB/s); or
  // an eighth of the memory there is.
  double copy() {
    const Bytes least = Bytes{1} << 20, most = Bytes{traits_.cpu ? 64u : 1024u} << 20;
    const Bytes room = std::clamp(std::min(traits_.max_allocation, device_.free_memory() / 8), least, most);
    const Bytes element = traits_.cpu ? lanes_ * sizeof(std::uint32_t) : 16;
    const Bytes items = traits_.cpu ? groups_ : Bytes{1} << 18;  // an H200 holds 2^18 at once
    const auto each = static_cast<std::uint32_t>(std::max<Bytes>(room / (items * element) / 4 * 4, 4));
    const Bytes size = items * each * element;
    Buffer &one = buffer(size), &other = buffer(size);
    Kernel& object = kernel("copy");
    const std::size_t local = traits_.cpu ? 1 : std::min<std::size_t>(group_, items);
    const Grid grid{{items, 1, 1}, {local, 1, 1}};
    const auto seconds_of = [&](Buffer& from, Buffer& to) {
      return device_seconds([&] { device_.stream().launch(object, grid, {&from, &to, each}); });
    };
    // Both written once: pages never written are all one page of zeros, and reading them measures a cache.
    seconds_of(one, other);
    seconds_of(other, one);
    const double spent = best([&] { return seconds_of(one, other); });
    holdings_.clear();
    return 2.0 * static_cast<double>(size) / spent;
  }

  double transfer_rate(Buffer& there, std::span<std::byte> memory, bool up) {
    const auto once = [&] {
      return seconds(host_time([&] {
        if (up)
          device_.stream().upload(there, 0, memory);
        else
          device_.stream().download(there, 0, memory);
      }));
    };
    once();  // first uses allocate and map
    return static_cast<double>(memory.size()) / best(once);
  }

  void transfers(Capability& measured) {
    const Bytes piece = piece_for(traits_);
    Buffer& there = buffer(piece);
    OpenDevice* const mine[] = {&device_};
    HostMemory& pageable = holdings_.add(std::make_unique<HostMemory>(backend_, piece, mine, false));
    HostMemory& pinned = holdings_.add(std::make_unique<HostMemory>(backend_, piece, mine, true));
    measured.pageable_up = measured.pinned_up = transfer_rate(there, pageable.bytes(), true);
    measured.pageable_down = measured.pinned_down = transfer_rate(there, pageable.bytes(), false);
    if (pinned.pinned()) {
      measured.pinned_up = transfer_rate(there, pinned.bytes(), true);
      measured.pinned_down = transfer_rate(there, pinned.bytes(), false);
    }
    holdings_.clear();
  }

  void launches(Capability& measured) {
    Kernel& object = kernel("nothing");
    const Grid grid{{group_, 1, 1}, {group_, 1, 1}};
    const auto launch = [&](unsigned count) {
      return host_time([&] {
        for (unsigned i = 0; i < count; ++i) device_.stream().launch(object, grid, {std::uint32_t{0}});
      });
    };
    launch(kTogether);
    std::vector<Nanos> alone, together;
    for (unsigned i = 0; i < kLaunches; ++i) alone.push_back(launch(1));
    for (unsigned i = 0; i < kLeastTries; ++i) together.push_back(launch(kTogether) / kTogether);
    measured.launch = std::max(summarise(alone).median, Nanos{1});
    measured.next_launch = std::max(summarise(together).median, Nanos{1});
  }

  Backend& backend_;
  OpenDevice& device_;
  const DeviceTraits& traits_;
  unsigned lanes_ = 1;
  std::size_t group_ = 1, groups_ = 1;
  std::string options_;
  Holdings holdings_;
};

class LinkCalibration {
 public:
  LinkCalibration(Backend& backend, std::span<OpenDevice* const> devices) : backend_(backend), devices_(devices) {}

  LinkCapability measure() {
    piece_ = piece_for(devices_.front()->resources().traits());
    for (OpenDevice* device : devices_) piece_ = std::min(piece_, piece_for(device->resources().traits()));
    for (OpenDevice* device : devices_) buffers_.push_back(&holdings_.add(device->resources().allocate(piece_)));
    memory_ = &holdings_.add(std::make_unique<HostMemory>(backend_, piece_ * devices_.size(), devices_, true));
    try {
      LinkRate up = by_count(true);
      return {{}, std::move(up), by_count(false)};
    } catch (const Error& error) {
      holdings_.keep_if(error);
      throw;
    }
  }

 private:
  static constexpr unsigned kPieces = 4;  // per device and try: its start and end are a small part of it
  struct Span {
    Nanos begin{}, end{};
    std::exception_ptr failure;
  };

  bool any_cpu() const {
    return std::any_of(devices_.begin(), devices_.end(), [](OpenDevice* d) { return d->resources().traits().cpu; });
  }

  // Of the first two, three and so on to all of them; one is limited by its own link only. CPUs copy with their cores, so that only
  // all of them at once say something.
  LinkRate by_count(bool up) {
    const std::size_t all = devices_.size();
    if (any_cpu() || all < 3) return rate(up, all);
    std::vector<double> rates(all);
    for (std::size_t count = 2; count <= all; ++count) rates[count - 1] = rate(up, count);
    rates[0] = rates[1];
    return LinkRate(std::move(rates));
  }

  double rate(bool up, std::size_t count) {
    together(up, count);                                                                  // first uses allocate and map
    const Nanos begin = backend_.now(), enough = any_cpu() ? 2 * kSampledCpu : kSampled;  // cores are disturbed more often
    Nanos least = together(up, count);
    for (unsigned tries = 1; tries < kLeastTries || backend_.now() - begin < enough; ++tries)
      least = std::min(least, together(up, count));
    return static_cast<double>(piece_ * kPieces * count) / std::max(seconds(least), 1e-9);
  }

  BatchId enqueue(std::size_t index, bool up) {
    Stream& stream = devices_[index]->stream();
    const auto mine = memory_->bytes().subspan(index * piece_, piece_);
    for (unsigned i = 0; i < kPieces; ++i) {
      if (up)
        stream.upload(*buffers_[index], 0, mine);
      else
        stream.download(*buffers_[index], 0, mine);
    }
    return devices_[index]->submit();
  }

  // From the first begin to the last end of the copies of the first `count` devices.
  Nanos together(bool up, std::size_t count) {
    std::vector<Span> spans(count);
    if (backend_.is_virtual())
      on_one_thread(up, spans);
    else
      on_threads(up, spans);
    Nanos begin = spans.front().begin, end{};
    for (const Span& span : spans) {
      if (span.failure) std::rethrow_exception(span.failure);
      begin = std::min(begin, span.begin);
      end = std::max(end, span.end);
    }
    return end - begin;
  }

  void on_one_thread(bool up, std::vector<Span>& spans) {
    std::vector<BatchId> batches;
    for (std::size_t i = 0; i < spans.size(); ++i) {
      spans[i].begin = backend_.now();
      batches.push_back(enqueue(i, up));
    }
    for (std::size_t i = 0; i < spans.size(); ++i) {
      wait_for(backend_, *devices_[i], batches[i], false);
      spans[i].end = backend_.now();
      devices_[i]->take(batches[i]);
    }
  }

  void on_threads(bool up, std::vector<Span>& spans) {
    std::barrier start(static_cast<std::ptrdiff_t>(spans.size()));
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < spans.size(); ++i) {
      threads.emplace_back([&, i] {
        Span& mine = spans[i];
        start.arrive_and_wait();
        mine.begin = backend_.now();
        try {
          const BatchId batch = enqueue(i, up);
          wait_for(backend_, *devices_[i], batch, devices_[i]->resources().traits().cpu);
          mine.end = backend_.now();
          devices_[i]->take(batch);
        } catch (...) {
          mine.failure = std::current_exception();
        }
      });
    }
  }

  Backend& backend_;
  std::span<OpenDevice* const> devices_;
  Bytes piece_ = 0;  // the same for all
  Holdings holdings_;
  std::vector<Buffer*> buffers_;
  HostMemory* memory_ = nullptr;
};

}  // namespace

Capability measure_capability(Backend& backend, OpenDevice& device) { return DeviceCalibration(backend, device).measure(); }

LinkCapability measure_link(Backend& backend, std::span<OpenDevice* const> devices) {
  return LinkCalibration(backend, devices).measure();
}

}  // namespace mgpu
