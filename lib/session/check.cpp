#include "lib/session/check.hpp"

#include <algorithm>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/exec/driver_call.hpp"
#include "lib/exec/leak.hpp"
#include "lib/measure/calibration.hpp"
#include "lib/measure/ecc_errors.hpp"
#include "lib/measure/memory_test.hpp"
#include "lib/session/links.hpp"
#include "lib/session/watch.hpp"

namespace mgpu {
namespace {

// Runs of each work on each device: at least; enough, if there is time.
constexpr std::size_t kLeastRuns = 2, kEnoughRuns = 40;
constexpr std::size_t kLeastRounds = 4, kMostRounds = 12;
constexpr Nanos kRateTime = std::chrono::milliseconds(20);
constexpr double kMemoryShare = 0.8;
constexpr Bytes kMostCpuMemory = Bytes{1} << 30;
constexpr Nanos kMostForCounters = std::chrono::seconds(2);
constexpr Bytes kLeastAllReduce = Bytes{1} << 20;

class Check {
 public:
  Check(Backend& backend, const CheckOptions& options,
        const std::function<void(const std::string&)>& progress)
      : backend_(backend),
        options_(options),
        progress_(progress),
        begin_(backend.now()),
        executor_(backend, 1) {
    document_.tool = options.tool;
    document_.host = options.host;
    document_.started = options.started;
    document_.budget = options.time;
    for (const Device& device : options.devices) {
      document_.devices.push_back(checked_device(device, document_.devices.size(), options.host));
      document_.devices.back().started = options.started;
    }
  }

  // Leaks devices that do not become idle.
  ~Check() {
    works_.clear();
    for (auto& device : open_)
      if (device && !device->drained() && !try_drain(backend_, *device)) leak(std::move(device));
  }
  Check(const Check&) = delete;
  Check& operator=(const Check&) = delete;

  CheckDocument run() {
    TelemetryRecord watched;
    SessionOptions to_watch;
    to_watch.devices = options_.devices;
    to_watch.telemetry = options_.telemetry;
    Watch watch(backend_, to_watch, watched);
    const std::vector<DeviceState> before = watch.states();
    for (std::size_t i = 0; i < before.size(); ++i) document_.devices[i].before = before[i];
    read_ecc(&CheckedDevice::ecc_before);
    open();
    run_works();
    measure_rates_in_rounds();
    test_memories();
    measure_all_links();
    read_telemetry(watch);
    measure_again();
    // Compilers may have taken all the time for results.
    while (runs_ < kEnoughRuns && !is_over(CheckPart::again) && run_all_works()) ++runs_;
    read_telemetry(watch);
    const std::vector<DeviceState> after = watch.states();
    for (std::size_t i = 0; i < after.size(); ++i) document_.devices[i].after = after[i];
    read_ecc(&CheckedDevice::ecc_after);
    conclude(document_, options_.known, options_.rules);
    document_.took = backend_.now() - begin_;
    return std::move(document_);
  }

 private:
  bool works(std::size_t i) const { return open_[i] && document_.devices[i].failed.empty(); }
  bool is_over(CheckPart part) const {
    return backend_.now() >= end_of_part(part, begin_, options_.time);
  }

  // Runs `use` of a device. A device that fails takes no part from then on.
  template <class Use>
  bool attempt(std::size_t i, const Use& use) {
    try {
      attend(backend_, open_.size() > i ? open_[i].get() : nullptr, use);
      return true;
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::interrupted) throw;
      mark(i, error);
      return false;
    }
  }

  void mark(std::size_t i, const Error& error) {
    document_.devices[i].failed = error.what();
    document_.devices[i].hung = error.kind() == ErrorKind::timeout;
  }

  void open() {
    for (std::size_t i = 0; i < options_.devices.size(); ++i) {
      open_.push_back(nullptr);
      try {
        open_[i] = backend_.open(options_.devices[i],
                                 options_.handicaps.empty() ? Handicap{} : options_.handicaps[i]);
      } catch (const Error& error) {
        if (error.kind() == ErrorKind::interrupted) throw;
        mark(i, error);
      }
    }
  }

  void run_works() {
    for (const CheckWork& work : options_.works) {
      progress_("results of " + work.words);
      try {
        works_.push_back(std::make_unique<WorkRuns>(backend_, executor_, work, options_.devices));
      } catch (const Error& error) {
        if (error.kind() == ErrorKind::interrupted) throw;
        document_.warnings.push_back(work.words + " is not checked: " + error.what());
        works_.push_back(nullptr);
      }
      for (CheckedDevice& device : document_.devices) device.works.push_back({work.words, {}});
      for (std::size_t run = 0; run < kLeastRuns; ++run) run_work(works_.size() - 1);
    }
    progress_("results again");
    runs_ = kLeastRuns;
    while (!is_over(CheckPart::works) && run_all_works()) ++runs_;
  }

  // Returns whether there was any work to run.
  bool run_all_works() {
    bool any = false;
    for (std::size_t work = 0; work < works_.size(); ++work) any |= run_work(work);
    return any;
  }

  bool run_work(std::size_t work) {
    bool any = false;
    for (std::size_t i = 0; i < open_.size(); ++i) {
      if (!works(i) || !works_[work]) continue;
      bool ran = false;
      const bool answered =
          attempt(i, [&] { ran = works_[work]->run(*open_[i], document_.devices[i].works[work]); });
      // A thread may be inside, and everything that it uses must stay.
      if (!answered && !try_drain(backend_, *open_[i])) works_[work]->leave();
      any |= ran;
    }
    return any;
  }

  CheckValues& rate_of(CheckedDevice& device, const CheckRate& rate) {
    for (CheckValues& values : device.rates)
      if (values.quantity == rate.quantity) return values;
    return device.rates.emplace_back(CheckValues{rate.quantity, rate.unit, {}, 0});
  }

  // Measures these rates once on each device.
  void measure_round(std::span<const CheckRate* const> rates) {
    std::vector<RateMember> figures;
    for (const CheckRate* rate : rates) figures.push_back(rate->figure);
    for (std::size_t i = 0; i < open_.size(); ++i) {
      if (!works(i)) continue;
      Capability measured;
      if (!attempt(i, [&] { measured = measure_rates(backend_, *open_[i], figures, kRateTime); }))
        continue;
      for (const CheckRate* rate : rates) {
        if (!(measured.*(rate->figure) > 0)) continue;
        rate_of(document_.devices[i], *rate).values.push_back(measured.*(rate->figure));
      }
    }
  }

  void measure_rates_in_rounds() {
    progress_("rates of devices");
    std::vector<const CheckRate*> all;
    for (const CheckRate& rate : kCheckRates) all.push_back(&rate);
    for (std::size_t round = 0;
         round < kLeastRounds || (round < kMostRounds && !is_over(CheckPart::rates)); ++round)
      measure_round(all);
  }

  void test_memories() {
    std::size_t left = 0;
    for (std::size_t i = 0; i < open_.size(); ++i) left += works(i) ? 1 : 0;
    const std::size_t all = left;
    for (std::size_t i = 0; i < open_.size(); ++i) {
      if (!works(i)) continue;
      progress_("memory of " + document_.devices[i].label);
      const Nanos end = end_of_part(CheckPart::memory, begin_, options_.time);
      const Nanos share = (end - backend_.now()) / static_cast<std::int64_t>(left--);
      MemoryTest test;
      attempt(i, [&] {
        auto most = static_cast<Bytes>(kMemoryShare * static_cast<double>(open_[i]->free_memory()));
        if (options_.devices[i].is_cpu()) most = std::min(most, kMostCpuMemory / all);
        test = test_memory(backend_, *open_[i], most, std::max(share, Nanos{}));
      });
      document_.devices[i].memory = CheckedMemory{test.bytes, test.passes, test.wrong};
    }
  }

  void measure_all_links() {
    LinksOptions options;
    bool gpus = true;
    for (std::size_t i = 0; i < open_.size(); ++i) {
      if (!works(i)) continue;
      options.devices.push_back(options_.devices[i]);
      gpus &= !options_.devices[i].is_cpu();
    }
    if (options.devices.size() < 2) return;
    options.quick = true;
    options.latencies = options.unused_paths = false;
    options.ops = {Collective::all_reduce};
    options.sizes = options_.all_reduces;
    if (options.sizes.empty())
      options.sizes =
          gpus ? std::vector{kLeastAllReduce, 64 * kLeastAllReduce} : std::vector{kLeastAllReduce};
    progress_("links");
    Report report;
    try {
      attend(backend_, nullptr,
             [&] { measure_links(backend_, options, report, [](const std::string&) {}); });
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::interrupted) throw;
      blame_for_links(error);
    }
    for (DeviceRecord& record : report.devices)
      for (std::size_t i = 0; i < options_.devices.size(); ++i)
        if (options_.devices[i].id == record.device.id) record.rank = i;
    add_links(report, document_);
  }

  // Finds the device that an error of several names.
  void blame_for_links(const Error& error) {
    const std::string what = std::string(error.what()) + " ";
    for (std::size_t i = 0; i < options_.devices.size(); ++i)
      if (works(i) && what.find("device " + options_.devices[i].id + " ") != std::string::npos)
        return mark(i, error);
    if (error.kind() == ErrorKind::unsupported || error.kind() == ErrorKind::out_of_memory) {
      document_.warnings.push_back(std::string("links are not checked: ") + error.what());
      return;
    }
    document_.failed = std::string("links: ") + error.what();
    document_.hung = error.kind() == ErrorKind::timeout;
  }

  void measure_again() {
    CheckAgain again;
    again.rates = [&](const std::vector<std::string>& quantities) {
      progress_("again: " + quantities.front());
      std::vector<const CheckRate*> rates;
      for (const CheckRate& rate : kCheckRates)
        if (std::count(quantities.begin(), quantities.end(), rate.quantity) > 0)
          rates.push_back(&rate);
      measure_round(rates);
    };
    again.links = [&] { measure_all_links(); };
    again.is_over = [&] { return is_over(CheckPart::again); };
    settle_doubts(document_, options_.known, options_.rules, again);
  }

  void read_ecc(std::optional<CheckedEcc> CheckedDevice::*counters) {
    if (!options_.telemetry || backend_.is_virtual()) return;
    for (std::size_t i = 0; i < options_.devices.size(); ++i) {
      try {
        const auto errors =
            driver_result("reading the ECC errors of " + options_.devices[i].id, kMostForCounters,
                          {}, [device = options_.devices[i], places = *options_.telemetry] {
                            return read_ecc_errors(device, places);
                          });
        if (errors)
          document_.devices[i].*counters = CheckedEcc{errors->corrected, errors->uncorrected};
      } catch (const Error&) {  // the driver hangs: reading other devices would hang, too
        return;
      }
    }
  }

  void read_telemetry(Watch& watch) {
    const std::vector<TelemetryTrack> tracks = watch.take();
    const bool cpus = std::all_of(options_.devices.begin(), options_.devices.end(),
                                  [](const Device& device) { return device.is_cpu(); });
    const auto load = other_load(tracks, cpus);
    for (std::size_t i = 0; i < options_.devices.size(); ++i) {
      CheckedDevice& device = document_.devices[i];
      if (load) device.other_work = *load;
      for (const TelemetryTrack& track : tracks) {
        if (track.of != device.id || track.readings.empty()) continue;
        const TimeWindow whole{track.readings.front().at, track.readings.back().at};
        const std::uint32_t before = device.during ? device.during->throttle : 0;
        device.during = summarise_telemetry(track, {&whole, 1}, Nanos{});
        device.during->throttle |= before;
        const auto& others = (*device.during)[Gauge::other_processes];
        if (others && others->max > 0)
          device.other_work = "other processes compute on " + device.label;
      }
    }
  }

  Backend& backend_;
  const CheckOptions& options_;
  const std::function<void(const std::string&)>& progress_;
  const Nanos begin_;
  Executor executor_;
  CheckDocument document_;
  std::vector<std::unique_ptr<OpenDevice>> open_;  // null: it could not be opened
  std::vector<std::unique_ptr<WorkRuns>> works_;   // null: it could not be prepared
  std::size_t runs_ = 0;                           // of each work on each device
};

}  // namespace

Nanos end_of_part(CheckPart part, Nanos begin, Nanos time) {
  constexpr double kUntil[] = {0.25, 0.6, 0.7, 0.8, 0.95};
  return begin + from_seconds(kUntil[static_cast<std::size_t>(part)] * seconds(time));
}

CheckDocument run_check(Backend& backend, const CheckOptions& options,
                        const std::function<void(const std::string&)>& progress) {
  return Check(backend, options, progress).run();
}

}  // namespace mgpu
