#include "lib/measure/together.hpp"

#include <algorithm>
#include <atomic>
#include <thread>

#include "lib/base/error.hpp"
#include "lib/base/numa.hpp"
#include "lib/exec/driver_call.hpp"
#include "lib/workload/first_error.hpp"

namespace mgpu {

// A barrier for all threads. A sleeping thread starts up to 50 us late; a spinning one takes a core
// from a CPU device.
class Together::Barrier {
 public:
  Barrier(std::size_t participants, bool sleeps) : members_(participants), sleeps_(sleeps) {}

  // Waits until all have arrived; the last one calls `then` before any continues. Returns false
  // when one has left.
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

// Decides how many repetitions there are, between two of them, while no device is working.
class Together::Series {
 public:
  Series(Backend& backend, const Repetitions& repetitions, std::size_t participants)
      : current(participants),
        backend_(backend),
        repetitions_(repetitions),
        begin_(backend.now()) {}

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

std::vector<TogetherSample> Together::measure(std::span<const DeviceIndex> who,
                                              const Repetitions& repetitions,
                                              const std::function<void(DeviceIndex)>& enqueue) {
  std::vector<TogetherSample> samples = backend_.is_virtual()
                                            ? on_one_thread(who, repetitions, enqueue)
                                            : on_threads(who, repetitions, enqueue);
  if (group_ != nullptr)
    for (const DeviceIndex device : who) group_->check(device);
  return samples;
}

void Together::once(std::span<const DeviceIndex> who,
                    const std::function<void(DeviceIndex)>& enqueue) {
  measure(who, {.warmup = 0, .least = 1, .most = 1}, enqueue);
}

std::vector<TogetherSample> Together::on_one_thread(
    std::span<const DeviceIndex> who, const Repetitions& repetitions,
    const std::function<void(DeviceIndex)>& enqueue) {
  Series series(backend_, repetitions, who.size());
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
      wait_until(backend_, "device " + devices_[at.value]->resources().traits().id,
                 backend_.limits().answer, backend_.limits().stop, all_over, [] {});
      for (std::size_t i = 0; i < who.size(); ++i) devices_[who[i].value]->take(batches[i]);
    } catch (const Error& error) {
      for (const DeviceIndex device : who) devices_[device.value]->abandon();
      const Blame blame = blame_for(at, error);
      if (group_ != nullptr) group_->mark_failed(blame.whom);
      throw Error(blame.error);
    }
    series.ended();
  }
  return std::move(series.samples);
}

// State that the threads of one measurement share. A thread stuck in a driver keeps it alive.
class Together::ThreadPool {
 public:
  ThreadPool(Backend& backend, std::span<OpenDevice* const> devices,
             std::span<const DeviceIndex> who_, const Repetitions& repetitions,
             std::function<void(DeviceIndex)> enqueue_)
      : series(backend, repetitions, who_.size()),
        who(who_.begin(), who_.end()),
        enqueue(std::move(enqueue_)),
        limits(backend.limits()),
        barrier(who_.size(), std::any_of(who_.begin(), who_.end(),
                                         [&](DeviceIndex d) { return is_cpu(*devices[d.value]); })),
        watches(who_.size()),
        over(who_.size()) {
    // Only one thread asks the caller whether to stop.
    limits.stop = [this] { return stopped.load(); };
  }
  static bool is_cpu(OpenDevice& device) { return device.resources().traits().cpu; }

  Series series;
  const std::vector<DeviceIndex> who;
  const std::function<void(DeviceIndex)> enqueue;
  WaitLimits limits;
  Barrier barrier;
  FirstError first;
  std::atomic<bool> stopped = false;
  std::vector<DriverWatch> watches;  // indexed like `who`
  std::vector<std::atomic<bool>> over;
};

std::vector<TogetherSample> Together::on_threads(std::span<const DeviceIndex> who,
                                                 const Repetitions& repetitions,
                                                 const std::function<void(DeviceIndex)>& enqueue) {
  const auto thread_pool =
      std::make_shared<ThreadPool>(backend_, devices_, who, repetitions, enqueue);
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < who.size(); ++i)
    threads.emplace_back([this, thread_pool, i] { serve(*thread_pool, i); });
  for (std::size_t at_work = who.size(); at_work > 0;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const WaitLimits& limits = backend_.limits();
    if (limits.stop && limits.stop()) thread_pool->stopped = true;
    at_work = 0;
    for (std::size_t i = 0; i < who.size(); ++i) {
      if (thread_pool->over[i]) continue;
      const bool stops = thread_pool->stopped;
      if (thread_pool->watches[i].gives_up(backend_.now(), stops ? kStopGrace : limits.answer,
                                           stops ? Nanos{} : limits.build)) {
        threads[i].detach();
        thread_pool->over[i] = true;
        leave_inside(*thread_pool, i);
      } else {
        ++at_work;
      }
    }
  }
  for (std::jthread& thread : threads)
    if (thread.joinable()) thread.join();
  thread_pool->first.rethrow();
  return std::move(thread_pool->series.samples);
}

void Together::serve(ThreadPool& thread_pool, std::size_t index) {
  const DeviceIndex self = thread_pool.who[index];
  OpenDevice& device = *devices_[self.value];
  thread_pool.watches[index].begin();
  CpuBinding binding;
  binding.to(device.resources().traits().near_cpus);
  const WaitPolicy look = ThreadPool::is_cpu(device) ? WaitPolicy::sleep : WaitPolicy::spin;
  try {
    while (thread_pool.series.goes_on() && thread_pool.barrier.meet([] {})) {
      HostInterval& mine = thread_pool.series.current[index];
      mine.begin = backend_.now();
      thread_pool.enqueue(self);
      const BatchId batch = device.submit();
      wait_for(backend_, device, batch, thread_pool.limits, look);
      mine.end = backend_.now();
      device.take(batch);
      if (!thread_pool.barrier.meet([&] { thread_pool.series.ended(); })) break;
    }
  } catch (const Error& error) {
    keep(blame_for(self, error), thread_pool.first);
    thread_pool.barrier.leave();
  } catch (...) {
    thread_pool.first.keep();
    thread_pool.barrier.leave();
  }
  thread_pool.over[index] = true;
}

// Gives up a thread whose driver does not return from a call, and its device.
void Together::leave_inside(ThreadPool& thread_pool, std::size_t index) {
  OpenDevice& device = *devices_[thread_pool.who[index].value];
  const std::string what =
      "the driver of device " + device.resources().traits().id + " did not return from a call";
  keep({Error(ErrorKind::timeout, what), thread_pool.who[index]}, thread_pool.first);
  thread_pool.barrier.leave();
}

// Keeps the error before the other threads are released: one of them that times out afterwards must
// not be reported as the first that failed.
void Together::keep(const Blame& blame, FirstError& first) {
  try {
    throw Error(blame.error);
  } catch (...) {
    first.keep();
  }
  if (group_ != nullptr) group_->mark_failed(blame.whom);
}

// Finds the device to blame, which may be another one that did not do its part.
Together::Blame Together::blame_for(DeviceIndex device, const Error& error) {
  DeviceIndex culprit = device;
  if (group_ != nullptr && error.kind() == ErrorKind::timeout)
    for (std::size_t steps = 0; steps < group_->size(); ++steps)
      culprit = group_->awaited_by(culprit);
  if (culprit == device) return {error, device};
  const auto id = [&](DeviceIndex of) { return devices_[of.value]->resources().traits().id; };
  return {Error(error.kind(), std::string(error.what()) + ": it waits for device " + id(culprit)),
          culprit};
}

}  // namespace mgpu
