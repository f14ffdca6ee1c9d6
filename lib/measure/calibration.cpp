// Calibration of one device. Kernels are timed by the device's own stamps, transfers and launches
// by the host's clock, as a caller sees them.
#include "lib/measure/calibration.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <string>

#include "lib/base/numa.hpp"
#include "lib/base/stats.hpp"
#include "lib/measure/calibration_parts.hpp"

namespace mgpu {
namespace {

// Least time of a measured kernel: a launch is 0.3 % of it. A time slice of Linux is 4 ms.
constexpr Nanos kLongEnough = std::chrono::milliseconds(2);
// Time to wake a GPU: after idling it needs some milliseconds to reach its clock.
constexpr Nanos kWakeUp = std::chrono::milliseconds(60);
// Limits for very slow devices, such as simulated ones: a small trial shows how much of the usual
// work fits into the first.
constexpr Nanos kLongest = std::chrono::milliseconds(250), kLongTries = std::chrono::seconds(1);
constexpr Bytes kTrialCopy = Bytes{64} << 10, kTrialTransfer = Bytes{1} << 20;
constexpr unsigned kLaunches = 50, kTogether = 200, kFewLaunches = 4;

class DeviceCalibration {
 public:
  DeviceCalibration(Backend& backend, OpenDevice& device)
      : backend_(backend), device_(device), traits_(device.resources().traits()) {
    lanes_ = traits_.cpu ? width(traits_.float_width) : 1;
    group_ = traits_.cpu ? 1 : 256;
    // CPUs get many groups, so that a core that is late does fewer of them. 2048 work-items per
    // unit fill today's GPUs.
    groups_ = std::max(1u, traits_.compute_units) * (traits_.cpu ? 16u : 8u);
  }

  Capability measure() {
    return measure([this](Capability& measured) {
      for (const RateMember rate : kRatesOfChip) measured.*rate = rate_of(rate);
      transfers(measured);
      launches(measured);
      least_kernel(measured);
    });
  }

  Capability measure(std::span<const RateMember> rates, Nanos enough) {
    enough_ = enough;
    return measure([&](Capability& measured) {
      for (const RateMember rate : rates) measured.*rate = rate_of(rate);
    });
  }

 private:
  static constexpr RateMember kRatesOfChip[] = {&Capability::fp32_flops, &Capability::fp64_flops,
                                                &Capability::int32_ops,
                                                &Capability::memory_bytes_per_s};

  template <class Rates>
  Capability measure(const Rates& rates) {
    Capability measured;
    CpuBinding binding;  // as a worker's thread is
    binding.to(traits_.near_cpus);
    try {
      if (!traits_.cpu) {
        limit_groups();
        wake_up();
      }
      rates(measured);
    } catch (...) {
      if (!try_drain(backend_, device_)) holdings_.leak();
      throw;
    }
    return measured;
  }

  double rate_of(RateMember rate) {
    if (rate == &Capability::fp32_flops) return single_precision();
    if (rate == &Capability::fp64_flops)
      return traits_.fp64 ? arithmetic("fp64", lanes_, 8, {0.999, 0.001}) : 0;
    if (rate == &Capability::int32_ops)
      return arithmetic("int32", lanes_, 4, {std::uint32_t{12345}});
    if (rate == &Capability::memory_bytes_per_s) return copy();
    return pinned_transfer(rate == &Capability::pinned_up);
  }

  double single_precision() {
    const double rate = arithmetic("fp32", lanes_, 4, {0.999f, 0.001f});
    // Some chips start twice as many if two are packed into one instruction.
    return traits_.cpu || traits_.nvidia
               ? rate
               : std::max(rate, arithmetic("fp32", 2, 4, {0.999f, 0.001f}));
  }

  // Returns a vector width of OpenCL: 1, 2, 4, 8 or 16 lanes.
  static unsigned width(unsigned native) {
    unsigned lanes = 1;
    while (lanes < 16 && lanes * 2 <= native) lanes *= 2;
    return lanes;
  }
  static std::string vector_type(const std::string& scalar, unsigned lanes) {
    return lanes == 1 ? scalar : scalar + std::to_string(lanes);
  }

  // Returns a kernel for vectors of as many 32-bit lanes.
  Kernel& kernel(std::string_view entry, unsigned lanes) {
    std::string options =
        "-DFLOATS=" + vector_type("float", lanes) + " -DUINTS=" + vector_type("uint", lanes);
    if (traits_.fp64) options += " -DDOUBLES=" + vector_type("double", std::max(1u, lanes / 2));
    if (traits_.cpu) options += " -DLINEAR";
    return holdings_.add(device_.resources().kernel(kCalibrationKernels, entry, options));
  }
  Buffer& buffer(Bytes size) { return holdings_.add(device_.resources().allocate(size)); }

  // Returns the device time in seconds of the commands that `enqueue` enqueues.
  double device_seconds(const std::function<void()>& enqueue) {
    enqueue();
    const BatchId batch = device_.submit();
    // A CPU device needs the cores for its kernels: do not spin.
    wait_for(backend_, device_, batch, traits_.cpu ? WaitPolicy::sleep : WaitPolicy::spin);
    const DeviceSpan span = device_.span(batch);
    device_.take(batch);
    return static_cast<double>(span.ended - span.started) * 1e-9;
  }

  Nanos host_time(const std::function<void()>& enqueue) {
    const Nanos begin = backend_.now();
    enqueue();
    const BatchId batch = device_.submit();
    wait_for(backend_, device_, batch, WaitPolicy::spin);
    const Nanos spent = backend_.now() - begin;
    device_.take(batch);
    return spent;
  }

  // Returns the least of several tries in seconds. A measurement that takes a second or longer is
  // tried once.
  double best(const std::function<double()>& seconds_of) {
    const Nanos begin = backend_.now(),
                enough = enough_.value_or(traits_.cpu ? kSampledCpu : kSampled);
    double least = seconds_of();
    const auto spent = [&] { return backend_.now() - begin; };
    for (unsigned tries = 1; (tries < kLeastTries && spent() < kLongTries) || spent() < enough;
         ++tries)
      least = std::min(least, seconds_of());
    return std::max(least, 1e-9);
  }

  // Arguments whose values the compiler must not know.
  using Arguments = std::vector<KernelArg>;

  void enqueue_arithmetic(Kernel& object, Buffer& out, std::uint32_t loops,
                          const Arguments& numbers) {
    const Grid grid = grid_of(object, groups_ * group_, group_);
    if (numbers.size() == 1)
      device_.stream().launch(object, grid, {&out, loops, numbers[0]});
    else
      device_.stream().launch(object, grid, {&out, loops, numbers[0], numbers[1]});
  }

  // Returns how many loops take kLongEnough.
  static std::uint32_t long_enough(const std::function<double(std::uint32_t)>& seconds_of) {
    seconds_of(1);  // PoCL compiles for this grid here
    std::uint32_t loops = 1;
    constexpr std::uint32_t kMostLoops = 1u << 22;
    for (double spent = seconds_of(loops); spent < seconds(kLongEnough) && loops < kMostLoops;
         spent = seconds_of(loops)) {
      const double missing = 1.25 * seconds(kLongEnough) / std::max(spent, 1e-9);
      loops = static_cast<std::uint32_t>(
          std::min<double>(loops * std::clamp(missing, 2.0, 64.0), kMostLoops));
    }
    return loops;
  }

  // Returns the operations per second of a kernel of multiply-adds on numbers of `size` bytes, of
  // which a work-item has as many as there are `words` of 4 bytes, or one.
  double arithmetic(std::string_view entry, unsigned words, Bytes size, const Arguments& numbers) {
    Kernel& object = kernel(entry, words);
    const Bytes lanes = std::max<Bytes>(1, words * sizeof(float) / size);
    Buffer& out = buffer(groups_ * group_ * lanes * size);
    const auto seconds_of = [&](std::uint32_t loops) {
      return device_seconds([&] { enqueue_arithmetic(object, out, loops, numbers); });
    };
    const std::uint32_t loops = long_enough(seconds_of);
    const double spent = best([&] { return seconds_of(loops); });
    holdings_.clear();
    return 2.0 * kCalibrationMultiplyAdds * loops * static_cast<double>(lanes * groups_ * group_) /
           spent;
  }

  // Leaves as many groups as take kLongest.
  void limit_groups() {
    Kernel& object = kernel("fp32", lanes_);
    Buffer& out = buffer(groups_ * group_ * lanes_ * sizeof(float));
    const std::size_t all = std::exchange(groups_, 1);
    const auto once = [&] {
      return device_seconds([&] { enqueue_arithmetic(object, out, 1, {0.999f, 0.001f}); });
    };
    once();  // some drivers compile here
    groups_ = static_cast<std::size_t>(
        std::clamp(seconds(kLongest) / std::max(once(), 1e-9), 1.0, static_cast<double>(all)));
    holdings_.clear();
  }

  void wake_up() {
    Kernel& object = kernel("fp32", lanes_);
    Buffer& out = buffer(groups_ * group_ * lanes_ * sizeof(float));
    const Nanos begin = backend_.now();
    for (std::uint32_t loops = 1; backend_.now() - begin < kWakeUp;
         loops = std::min(2 * loops, 256u))
      device_seconds([&] { enqueue_arithmetic(object, out, loops, {0.999f, 0.001f}); });
    holdings_.clear();
  }

  // Returns the bytes read and written per second. The buffers are far larger than caches: 2 x 64
  // MiB, on GPUs 2 x 1 GiB (half a millisecond at 4 TB/s), but at most an eighth of the free memory
  // and what is copied in kLongest.
  double copy() {
    const Bytes least = Bytes{1} << 20, most = Bytes{traits_.cpu ? 64u : 1024u} << 20;
    const Bytes room =
        std::clamp(std::min(traits_.max_allocation, device_.free_memory() / 8), least, most);
    Bytes size = kTrialCopy;
    double rate = copy_rate(size);
    for (;;) {
      const Bytes next = fitting(rate / 2, size, room);
      if (next < 2 * size) return rate;
      size = next;
      rate = copy_rate(size);
    }
  }

  // Returns how many bytes are moved in kLongest at this rate: from `least` to `most`.
  static Bytes fitting(double bytes_per_s, Bytes least, Bytes most) {
    return static_cast<Bytes>(std::clamp(bytes_per_s * seconds(kLongest),
                                         static_cast<double>(least), static_cast<double>(most)));
  }

  double copy_rate(Bytes room) {
    const Bytes element = traits_.cpu ? lanes_ * sizeof(std::uint32_t) : 16;
    // An H200 runs 2^18 work-items at once.
    const Bytes items =
        traits_.cpu ? groups_ : std::min(Bytes{1} << 18, std::bit_floor(room / (4 * element)));
    const auto each =
        static_cast<std::uint32_t>(std::max<Bytes>(room / (items * element) / 4 * 4, 4));
    const Bytes size = items * each * element;
    Buffer &one = buffer(size), &other = buffer(size);
    Kernel& object = kernel("copy", lanes_);
    const Grid grid = grid_of(object, items, std::min<std::size_t>(group_, items));
    const auto seconds_of = [&](Buffer& from, Buffer& to) {
      return device_seconds([&] { device_.stream().launch(object, grid, {&from, &to, each}); });
    };
    // Write both first: pages that were never written all share one page of zeros, and reading them
    // would measure a cache.
    seconds_of(one, other);
    seconds_of(other, one);
    const double spent = best([&] { return seconds_of(one, other); });
    holdings_.clear();
    return 2.0 * static_cast<double>(size) / spent;
  }

  double transfer_rate(Buffer& there, std::span<std::byte> memory, bool up) {
    const auto seconds_of = [&](std::span<std::byte> piece) {
      return seconds(host_time([&] {
        if (up)
          device_.stream().upload(there, 0, piece);
        else
          device_.stream().download(there, 0, piece);
      }));
    };
    const auto trial = memory.first(std::min<Bytes>(memory.size(), kTrialTransfer));
    seconds_of(trial);  // the first use allocates and maps
    const double trial_rate = static_cast<double>(trial.size()) / std::max(seconds_of(trial), 1e-9);
    const auto piece = memory.first(fitting(trial_rate, trial.size(), memory.size()));
    seconds_of(piece);
    return static_cast<double>(piece.size()) / best([&] { return seconds_of(piece); });
  }

  double pinned_transfer(bool up) {
    const Bytes piece = transfer_piece(traits_);
    Buffer& there = buffer(piece);
    OpenDevice* const mine[] = {&device_};
    HostMemory& pinned = holdings_.add(std::make_unique<HostMemory>(backend_, piece, mine, true));
    const double rate = transfer_rate(there, pinned.bytes(), up);
    holdings_.clear();
    return rate;
  }

  void transfers(Capability& measured) {
    const Bytes piece = transfer_piece(traits_);
    Buffer& there = buffer(piece);
    OpenDevice* const mine[] = {&device_};
    HostMemory& pageable =
        holdings_.add(std::make_unique<HostMemory>(backend_, piece, mine, false));
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
    Kernel& object = kernel("nothing", lanes_);
    const Grid grid = grid_of(object, group_, group_);
    const auto launch = [&](unsigned count) {
      return host_time([&] {
        for (unsigned i = 0; i < count; ++i)
          device_.stream().launch(object, grid, {std::uint32_t{0}});
      });
    };
    launch(1);  // some drivers compile here
    const double fit = seconds(kLongest) / std::max(seconds(launch(1)), 1e-9);
    const auto fitting_launches = [&](unsigned most) {
      return static_cast<unsigned>(
          std::clamp(fit, static_cast<double>(kFewLaunches), static_cast<double>(most)));
    };
    const unsigned count = fitting_launches(kTogether);
    launch(count);
    std::vector<Nanos> alone, together;
    for (unsigned i = fitting_launches(kLaunches); i > 0; --i) alone.push_back(launch(1));
    for (unsigned i = 0; i < kLeastTries; ++i) together.push_back(launch(count) / count);
    measured.launch = std::max(summarise(alone).median, Nanos{1});
    measured.next_launch = std::max(summarise(together).median, Nanos{1});
  }

  void least_kernel(Capability& measured) {
    Kernel& object = kernel("least", lanes_);
    const Grid grid = grid_of(object, group_, group_);
    Buffer& words = buffer(group_ * sizeof(std::uint32_t));
    std::vector<Nanos> times;
    for (unsigned i = 0; i < 1 + kLeastTries; ++i)
      times.push_back(
          from_seconds(device_seconds([&] { device_.stream().launch(object, grid, {&words}); })));
    times.erase(times.begin());  // some drivers compile here
    measured.least_kernel = std::max(summarise(times).median, Nanos{1});
    times = behind_a_long_one([&] { device_.stream().launch(object, grid, {&words}); });
    measured.least_waiting_kernel = std::max(summarise(times).median, Nanos{1});
    holdings_.clear();
  }

  // Returns the times of launches that are in the queue before their turn.
  std::vector<Nanos> behind_a_long_one(const std::function<void()>& launch) {
    constexpr unsigned kWaiting = 32;
    Kernel& busy = kernel("fp32", lanes_);
    Buffer& out = buffer(groups_ * group_ * lanes_ * sizeof(float));
    const auto keep_busy = [&](std::uint32_t loops) {
      enqueue_arithmetic(busy, out, loops, {0.999f, 0.001f});
    };
    const std::uint32_t loops =
        long_enough([&](std::uint32_t tried) { return device_seconds([&] { keep_busy(tried); }); });
    keep_busy(loops);
    for (unsigned i = 0; i < kWaiting; ++i) launch();
    const BatchId batch = device_.submit();
    wait_for(backend_, device_, batch, traits_.cpu ? WaitPolicy::sleep : WaitPolicy::spin);
    std::vector<Nanos> times;
    for (const RawCommand& command : device_.take(batch))
      times.push_back(Nanos{static_cast<std::int64_t>(command.ended - command.started)});
    times.erase(times.begin());
    return times;
  }

  Backend& backend_;
  OpenDevice& device_;
  const DeviceTraits& traits_;
  unsigned lanes_ = 1;
  std::size_t group_ = 1, groups_ = 1;  // work-items of a group, which a kernel may have fewer of
  std::optional<Nanos> enough_;         // how long tries go on; none: as for a calibration
  Holdings holdings_;
};

}  // namespace

Capability measure_capability(Backend& backend, OpenDevice& device) {
  return DeviceCalibration(backend, device).measure();
}

Capability measure_rates(Backend& backend, OpenDevice& device, std::span<const RateMember> rates,
                         Nanos enough) {
  return DeviceCalibration(backend, device).measure(rates, enough);
}

}  // namespace mgpu
