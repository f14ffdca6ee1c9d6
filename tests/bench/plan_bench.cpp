// Decision time of every strategy: `begin`, and each single call of `next` and of `finished`.
// Targets: p99 under 50 us for 8 devices and under 1 ms for 1,024; `auto` as a whole under 5 ms.
// The devices all differ, by up to 3 x, and end in the order of an event queue, as in a real run.
// --benchmark_filter='plan/.*/8$'
#include <benchmark/benchmark.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <queue>
#include <random>
#include <string>
#include <vector>

#include "lib/plan/choose.hpp"
#include "lib/plan/strategy.hpp"

namespace {

using namespace mgpu;
using Clock = std::chrono::steady_clock;

struct Plan {
  explicit Plan(std::size_t count) {
    std::mt19937_64 random(7);
    for (std::size_t i = 0; i < count; ++i) {
      DeviceEstimate e;
      e.items_per_s = std::uniform_real_distribution<double>(1e9, 3e9)(random);
      e.score = 80;
      e.fixed = std::chrono::microseconds(60);
      e.launch = std::chrono::microseconds(20);
      e.transfer = std::chrono::microseconds(10);
      e.up = e.down = 55e9;
      e.fits = Items{1} << 40;
      e.pipeline = Items{1} << 24;
      e.free_memory = Bytes{1} << 37;
      devices.push_back(e);
    }
    request.items = count << 26;  // about 33 ms, whatever the number of devices
    request.granularity = 1024;
    request.mode = Mode::end_to_end;
    request.cost.in_bytes = 32;
    request.devices = devices;
    request.link_up = 20e9 * static_cast<double>(count);
    request.merge.per_slice = Nanos(100);
  }
  std::vector<DeviceEstimate> devices;
  PlanRequest request;
};

double thread_us() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_nsec) * 1e-3;
}

// Times of single calls in us: by the steady clock, and by the thread's own clock. The latter
// leaves out the time in which others had the core (now and then 4 ms on a busy machine) and adds
// 0.3 us of its own.
class Calls {
 public:
  template <typename F>
  auto time(F call) {
    const double cpu = thread_us();
    const auto begin = Clock::now();
    auto result = call();
    wall_.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
    cpu_.push_back(thread_us() - cpu);
    return result;
  }
  void report(benchmark::State& state, const std::string& name) {
    if (wall_.empty()) return;
    state.counters[name + "_p50_us"] = quantile(wall_, 0.5);
    state.counters[name + "_p99_us"] = quantile(wall_, 0.99);
    state.counters[name + "_cpu_p99_us"] = quantile(cpu_, 0.99);
    state.counters[name + "_calls"] = static_cast<double>(wall_.size());
  }

 private:
  static double quantile(std::vector<double>& times, double share) {
    std::sort(times.begin(), times.end());
    return times[std::min(times.size() - 1,
                          static_cast<std::size_t>(share * static_cast<double>(times.size())))];
  }
  std::vector<double> wall_, cpu_;
};

// One run: two slices in flight per device, finished in the order of time. Only the source is
// timed.
class Run {
 public:
  Run(const Plan& plan, SliceSource& source, Calls& next, Calls& finished)
      : plan_(plan),
        source_(source),
        next_(next),
        finished_(finished),
        free_at_(plan.devices.size(), 0) {}

  void drive() {
    for (std::uint32_t i = 0; i < plan_.devices.size(); ++i) waiting_.push_back(i);
    ask_waiting();
    while (!flights_.empty()) {
      const Flight done = flights_.top();
      flights_.pop();
      finished_.time([&] {
        source_.finished({done.device}, done.slice, from_seconds(done.end - done.begin));
        return 0;
      });
      if (ask(done.device)) continue;
      // Waiting workers ask again when something has ended; timing one of them is enough.
      waiting_.push_back(done.device);
      std::rotate(waiting_.begin(), waiting_.begin() + 1, waiting_.end());
      if (ask(waiting_.front())) waiting_.erase(waiting_.begin());
      if (flights_.empty()) ask_waiting();
    }
  }

 private:
  struct Flight {
    double begin = 0, end = 0;
    std::uint32_t device = 0;
    Slice slice;
    bool operator<(const Flight& other) const { return end > other.end; }  // the earliest on top
  };

  void ask_waiting() {
    for (const std::uint32_t device : std::exchange(waiting_, {})) {
      bool more = ask(device);
      if (more) more = ask(device);
      if (!more) waiting_.push_back(device);
    }
  }

  bool ask(std::uint32_t device) {
    const Answer answer = next_.time([&] { return source_.next({device}); });
    const Slice* slice = std::get_if<Slice>(&answer);
    if (slice == nullptr) return false;
    const double begin = free_at_[device];
    free_at_[device] =
        begin + 20e-6 + static_cast<double>(slice->size()) / plan_.devices[device].items_per_s;
    flights_.push({begin, free_at_[device], device, *slice});
    return true;
  }

  const Plan& plan_;
  SliceSource& source_;
  Calls &next_, &finished_;
  std::vector<double> free_at_;
  std::vector<std::uint32_t> waiting_;
  std::priority_queue<Flight> flights_;
};

History history_of(const Plan& plan) {
  SampleShare share;
  for (const DeviceEstimate& device : plan.devices) {
    share.items.push_back(plan.request.items / plan.devices.size());
    share.busy.push_back(
        from_seconds(static_cast<double>(share.items.back()) / device.items_per_s));
  }
  share.makespan = *std::max_element(share.busy.begin(), share.busy.end());
  return History(100, share);
}

void plan(benchmark::State& state, const StrategyChoice& choice) {
  const Plan plan(static_cast<std::size_t>(state.range(0)));
  const History history = history_of(plan);
  const auto strategy = choice.info->make(choice.params);
  Calls begin, next, finished;
  for (auto _ : state) {
    std::unique_ptr<SliceSource> source;
    for (int n = 0; n < 100; ++n)
      source = begin.time([&] { return strategy->begin(plan.request, history); });
    Run(plan, *source, next, finished).drive();
  }
  begin.report(state, "begin");
  next.report(state, "next");
  finished.report(state, "finished");
}

// Measures `auto` as a whole, with every candidate simulated. Target: 5 ms.
void choose(benchmark::State& state) {
  const Plan plan(static_cast<std::size_t>(state.range(0)));
  std::size_t candidates = 0;
  for (auto _ : state) {
    PlanChoice choice = choose_plan(plan.request);
    candidates = choice.considered.size();
    benchmark::DoNotOptimize(choice.chosen.predicted);
  }
  state.counters["candidates"] = static_cast<double>(candidates);
}
BENCHMARK(choose)->Name("plan/auto")->Arg(2)->Arg(8)->Arg(1024)->Unit(benchmark::kMillisecond);

const bool registered = [] {
  std::string names = "all";
  for (const char* variant : {"factoring", "trapezoid", "weighted-factoring"})
    names += std::string(",guided:variant=") + variant;
  for (const StrategyChoice& choice : parse_strategies(names)) {
    for (const int devices : {8, 1024}) {
      benchmark::RegisterBenchmark(("plan/" + choice.label()).c_str(), plan, choice)
          ->Arg(devices)
          ->Unit(benchmark::kMillisecond);
    }
  }
  return true;
}();

}  // namespace
