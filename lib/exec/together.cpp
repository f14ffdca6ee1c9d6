#include "lib/exec/together.hpp"

#include <algorithm>
#include <atomic>
#include <thread>

#include "lib/base/error.hpp"
#include "lib/workload/first_error.hpp"

namespace mgpu {
namespace {

// Where all threads wait for each other. A thread that sleeps begins up to 50 us late, one that does not takes a core from a CPU
// device.
class Meeting {
 public:
  Meeting(std::size_t members, bool sleeps) : members_(members), sleeps_(sleeps) {}

  // Until all are there; whoever comes last does `then` before anybody goes on. False: somebody has left.
  template <class Then>
  bool meet(const Then& then) {
    const std::uint64_t round = round_;
    if (++arrived_ == members_) {
      arrived_ = 0;
      then();
      ++round_;
      round_.notify_all();
    }
    while (!left_ && round_ == round) {
      if (sleeps_)
        round_.wait(round);
      else
        std::this_thread::yield();
    }
    return !left_;
  }
  void leave() {
    left_ = true;
    ++round_;
    round_.notify_all();
  }

 private:
  const std::size_t members_;
  const bool sleeps_;
  std::atomic<std::size_t> arrived_ = 0;
  std::atomic<std::uint64_t> round_ = 0;
  std::atomic<bool> left_ = false;
};

}  // namespace

Nanos whole_time(const TogetherSample& sample) {
  Nanos begin = Nanos::max(), end = Nanos::min();
  for (const HostInterval& one : sample) {
    begin = std::min(begin, one.begin);
    end = std::max(end, one.end);
  }
  return end - begin;
}

std::vector<Nanos> whole_times(std::span<const TogetherSample> samples) {
  std::vector<Nanos> times;
  for (const TogetherSample& sample : samples) times.push_back(whole_time(sample));
  return times;
}

// How many repetitions there are: decided between two of them, while nobody is at work.
class Together::Series {
 public:
  Series(Backend& backend, const Repetitions& repetitions, std::size_t members)
      : current(members), backend_(backend), repetitions_(repetitions), begin_(backend.now()) {}

  bool goes_on() const { return goes_on_; }
  void ended() {
    const Nanos now = backend_.now();
    if (warming_) {
      ++warmed_;
      warming_ = warmed_ < repetitions_.warmup && now - begin_ < repetitions_.budget / 2;
      if (!warming_) begin_ = now;
    } else {
      samples.push_back(current);
    }
    const bool enough = samples.size() >= repetitions_.least && now - begin_ >= repetitions_.budget;
    goes_on_ = warming_ || (samples.size() < repetitions_.most && !enough);
  }

  TogetherSample current;
  std::vector<TogetherSample> samples;

 private:
  Backend& backend_;
  const Repetitions repetitions_;
  Nanos begin_;
  unsigned warmed_ = 0;
  bool warming_ = repetitions_.warmup > 0, goes_on_ = true;
};

std::vector<TogetherSample> Together::measure(std::span<const DeviceIndex> who, const Repetitions& repetitions,
                                              const std::function<void(DeviceIndex)>& enqueue) {
  Series series(backend_, repetitions, who.size());
  if (backend_.is_virtual())
    on_one_thread(who, series, enqueue);
  else
    on_threads(who, series, enqueue);
  if (group_ != nullptr)
    for (const DeviceIndex device : who) group_->check(device);
  return std::move(series.samples);
}

void Together::once(std::span<const DeviceIndex> who, const std::function<void(DeviceIndex)>& enqueue) {
  measure(who, {.warmup = 0, .least = 1, .most = 1}, enqueue);
}

void Together::on_one_thread(std::span<const DeviceIndex> who, Series& series, const std::function<void(DeviceIndex)>& enqueue) {
  std::vector<BatchId> batches(who.size());
  std::vector<bool> over(who.size());
  while (series.goes_on()) {
    DeviceIndex at = who.front();
    try {
      for (std::size_t i = 0; i < who.size(); ++i) {
        at = who[i];
        series.current[i].begin = backend_.now();
        enqueue(at);
        batches[i] = devices_[at.value]->submit();
        over[i] = false;
      }
      const auto all_over = [&] {
        for (std::size_t i = 0; i < who.size(); ++i) {
          if (over[i]) continue;
          at = who[i];
          over[i] = devices_[at.value]->complete(batches[i]);
          series.current[i].end = backend_.now();
        }
        const auto waited_for = std::find(over.begin(), over.end(), false);
        if (waited_for != over.end()) at = who[static_cast<std::size_t>(waited_for - over.begin())];
        return waited_for == over.end();
      };
      wait_until(backend_, "device " + devices_[at.value]->resources().traits().id, backend_.limits().answer,
                 backend_.limits().stop, all_over, [] {});
      for (std::size_t i = 0; i < who.size(); ++i) devices_[who[i].value]->take(batches[i]);
    } catch (const Error& error) {
      for (const DeviceIndex device : who) devices_[device.value]->abandon();
      fail(at, error);
    }
    series.ended();
  }
}

void Together::on_threads(std::span<const DeviceIndex> who, Series& series, const std::function<void(DeviceIndex)>& enqueue) {
  std::atomic<std::size_t> at_work = who.size();
  std::atomic<bool> stopped = false;
  WaitLimits limits = backend_.limits();
  limits.stop = [&] { return stopped.load(); };  // whoever may stop this is asked by this thread alone
  const bool cpus = std::any_of(who.begin(), who.end(), [&](DeviceIndex d) { return devices_[d.value]->resources().traits().cpu; });
  Meeting meeting(who.size(), cpus);
  FirstError first;
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < who.size(); ++i) {
      threads.emplace_back([&, i] {
        OpenDevice& device = *devices_[who[i].value];
        const Look look = device.resources().traits().cpu ? Look::gently : Look::closely;
        try {
          while (series.goes_on() && meeting.meet([] {})) {
            HostInterval& mine = series.current[i];
            mine.begin = backend_.now();
            enqueue(who[i]);
            const BatchId batch = device.submit();
            wait_for(backend_, device, batch, limits, look);
            mine.end = backend_.now();
            device.take(batch);
            if (!meeting.meet([&] { series.ended(); })) break;
          }
        } catch (const Error& error) {
          give_up(who[i], error, first);
          meeting.leave();
        } catch (...) {
          first.keep();
          meeting.leave();
        }
        --at_work;
      });
    }
    while (at_work > 0) {
      if (backend_.limits().stop && backend_.limits().stop()) stopped = true;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  first.rethrow();
}

void Together::give_up(DeviceIndex device, const Error& error, FirstError& first) {
  try {
    fail(device, error);
  } catch (...) {
    first.keep();
  }
}

// Nobody shall wait for the device any longer; and it may be another one that did not do its part.
void Together::fail(DeviceIndex device, const Error& error) {
  DeviceIndex culprit = device;
  if (group_ != nullptr) {
    if (error.kind() == ErrorKind::timeout) {
      for (std::size_t steps = 0; steps < group_->size(); ++steps) culprit = group_->awaited_by(culprit);
    }
    group_->lose(culprit);
  }
  if (culprit == device) throw Error(error);
  const auto id = [&](DeviceIndex of) { return devices_[of.value]->resources().traits().id; };
  throw Error(error.kind(), std::string(error.what()) + ": it waits for a signal of device " + id(culprit));
}

}  // namespace mgpu
