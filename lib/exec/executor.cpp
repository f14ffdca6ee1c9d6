// Starts the workers of a sample together, watches for drivers that do not return, and lets the
// reserve device take over.
#include "lib/exec/executor.hpp"

#include <fmt/format.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <utility>

#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "lib/base/numa.hpp"
#include "lib/base/quantity.hpp"
#include "lib/exec/driver_call.hpp"

namespace mgpu {
namespace {

// Time between two checks of a running sample by the caller's thread.
constexpr Nanos kLook = std::chrono::milliseconds(50);
constexpr unsigned kRoundsPerLook = 4096;  // loop passes between two checks on a virtual clock

// Sets the timer slack to 1 us instead of Linux's 50 us, so that a worker that sleeps until a stall
// ends wakes on time.
void make_sleeps_precise() {
#ifdef __linux__
  prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);
#endif
}

}  // namespace

struct Executor::Sample {
  Sample(Backend& backend, const SampleRequest& request) : run(backend, request) {
    for (std::uint32_t i = 0; i < run.participants.size(); ++i)
      workers.emplace_back(run, DeviceIndex{i});
  }

  // Returns the group positions of the participants that exchange data.
  std::vector<DeviceIndex> exchanging() const {
    std::vector<DeviceIndex> among;
    for (std::uint32_t i = 0; i < run.request.places.size(); ++i)
      if (run.exchanges({i})) among.push_back(run.request.places[i]);
    return among;
  }

  // Asks workers for a report when one is due, and hands it on once they had the time of a check to
  // make it. `now` 0: the sample has ended.
  void report(Nanos now) {
    if (!run.request.live) return;
    if (now != Nanos{} && !asked && now - reported >= run.request.live_every) {
      asked = true;
      ++run.reports;
    } else if (now == Nanos{} || asked) {
      asked = false;
      if (now != Nanos{}) reported = now;
      LiveSample live{
          (now != Nanos{} ? now : run.sample.end) - run.sample.begin, now == Nanos{}, {}};
      for (const DeviceWorker& worker : workers) worker.add_to(live);
      run.request.live(live);
    }
  }

  SampleRun run;
  std::deque<DeviceWorker> workers;
  Nanos reported{};    // time of the last report
  bool asked = false;  // a report is under way
};

struct Executor::ThreadPool {
  std::mutex mutex;
  std::condition_variable wake, finished;
  std::uint64_t generation = 0;
  bool stopping = false;
  std::shared_ptr<Sample> sample;  // the running sample
  std::size_t first = 0;           // index of the worker that thread 0 drives
  std::size_t asked = 0;           // number of workers to drive
  std::size_t running = 0;         // number of these workers that have not left
  std::atomic<std::size_t> ready{0};
  std::atomic<std::uint64_t> go{0};  // latest generation that may start

  void serve(std::size_t index);
};

Executor::Executor(Backend& backend, std::size_t workers, StartThread start)
    : backend_(backend), start_(std::move(start)), thread_pool_(std::make_shared<ThreadPool>()) {
  if (!start_) start_ = [](std::function<void()> main) { return std::thread(std::move(main)); };
  if (backend_.is_virtual()) return;
  threads_.resize(workers);
  try {
    start_missing_threads();
  } catch (...) {
    dismiss();  // stops the threads that were started
    throw;
  }
}

Executor::~Executor() { dismiss(); }

void Executor::start_thread(std::size_t index) {
  const auto watch = std::make_shared<DriverWatch>();
  threads_[index].thread = start_([thread_pool = thread_pool_, watch, index] {
    watch->begin();
    thread_pool->serve(index);
  });
  threads_[index].watch = watch;
}

// Starts the first threads, and replacements for those stuck in a driver.
void Executor::start_missing_threads() {
  for (std::size_t i = 0; i < threads_.size(); ++i) {
    if (threads_[i].watch != nullptr) continue;
    try {
      start_thread(i);
    } catch (const std::system_error& error) {
      throw Error(ErrorKind::internal,
                  fmt::format("a thread for each of {} devices cannot be started: {}",
                              threads_.size(), error.what()));
    }
  }
}

void Executor::dismiss() {
  {
    const std::lock_guard lock(thread_pool_->mutex);
    thread_pool_->stopping = true;
  }
  thread_pool_->wake.notify_all();
  for (Thread& each : threads_) {
    if (each.thread.joinable()) each.thread.join();
  }
}

RawSample Executor::run(const SampleRequest& request) {
  const auto sample = std::make_shared<Sample>(backend_, request);
  try {
    start_missing_threads();
    Workload& workload = *request.workload;
    if (PeerExchange* const exchange = workload.exchange())
      exchange->exchange_among(sample->exchanging());
    if (IterativeWorkload* const iterative = workload.iterative())
      iterative->set_partition(sample->run.owners_of(request.source->first_shares()));
    if (SizedByDevices* const sized = workload.sized_by_devices())
      sized->set_device_count(request.participants.size());
    MovableWorkload* const movable = workload.movable();
    if (request.again && movable != nullptr) {
      sample->run.first_round = movable->checkpointed_rounds();
      movable->restart();
    } else {
      workload.begin_sample();
    }
  } catch (const Error& error) {
    sample->run.sample.failure = error;
    return std::move(sample->run.sample);
  } catch (const std::exception& error) {
    sample->run.sample.failure = Error(ErrorKind::internal, error.what());
    return std::move(sample->run.sample);
  }
  sample->run.sample.first_shares = request.source->first_shares();
  if (request.source->moved() || request.source->rebalancer() != nullptr)
    sample->run.sample.migration.emplace();
  sample->run.plan_rebalance();
  drive(sample, 0, request);
  if (sample->run.none_left && !sample->run.sample.interrupted && request.reserve) {
    if (const auto participant = request.reserve()) {
      try {
        start_missing_threads();
      } catch (const Error&) {  // no device is left, so the failure stands
        return std::move(sample->run.sample);
      }
      sample->workers.emplace_back(sample->run, sample->run.take_over(*participant));
      drive(sample, sample->workers.size() - 1, request);
    }
  }
  if (!sample->run.sample.failure) sample->report({});
  RawSample& done = sample->run.sample;
  if (request.source->moved()) done.migration = {items_moved(done), 0, done.decision};
  return std::move(done);
}

void Executor::drive(const std::shared_ptr<Sample>& sample, std::size_t first,
                     const SampleRequest& request) {
  if (backend_.is_virtual()) {
    drive_virtually(*sample, first, request);
  } else {
    drive_by_threads(sample, first, request);
  }
}

void Executor::drive_virtually(Sample& sample, std::size_t first, const SampleRequest& request) {
  SampleRun& run = sample.run;
  if (first == 0) run.sample.begin = sample.reported = backend_.now();
  for (std::size_t i = first; i < sample.workers.size(); ++i) sample.workers[i].start();
  unsigned rounds = 0;
  for (bool busy = true; busy;) {
    bool progress = false;
    busy = false;
    std::optional<Nanos> limit;
    for (std::size_t i = first; i < sample.workers.size(); ++i) {
      DeviceWorker& worker = sample.workers[i];
      progress |= worker.step();
      busy |= !worker.left();
      if (const auto mine = worker.gives_up_at(); mine && (!limit || *mine < *limit)) limit = mine;
    }
    if (++rounds % kRoundsPerLook == 0 && request.stop && request.stop()) run.interrupt();
    if (busy) sample.report(backend_.now());
    // With nothing in flight there is no limit: no worker will ever act again.
    if (busy && !progress && !backend_.advance(limit))
      run.fail(Error(ErrorKind::internal, "every worker waits and nothing is under way"));
  }
}

void Executor::drive_by_threads(const std::shared_ptr<Sample>& sample, std::size_t first,
                                const SampleRequest& request) {
  ThreadPool& thread_pool = *thread_pool_;
  const std::size_t workers = sample->workers.size() - first;
  {
    const std::lock_guard lock(thread_pool.mutex);
    thread_pool.sample = sample;
    thread_pool.first = first;
    thread_pool.asked = thread_pool.running = workers;
    thread_pool.ready = 0;
    ++thread_pool.generation;
  }
  thread_pool.wake.notify_all();
  sample->reported = backend_.now();
  std::unique_lock lock(thread_pool.mutex);
  while (!thread_pool.finished.wait_for(lock, kLook, [&] { return thread_pool.running == 0; })) {
    lock.unlock();
    watch(*sample, first, request);
    lock.lock();
  }
  thread_pool.sample.reset();
}

// Checks the sample from the caller's thread: a worker itself notices commands that do not
// complete, but not that its driver does not return.
void Executor::watch(Sample& sample, std::size_t first, const SampleRequest& request) {
  const bool stops = request.stop && request.stop();
  if (stops) sample.run.interrupt();
  if (!stops) sample.report(backend_.now());
  const Nanos limit = stops ? kStopGrace : request.timeout,
              build = stops ? Nanos{} : backend_.limits().build;
  for (std::size_t i = first; i < sample.workers.size(); ++i) {
    Thread& thread = threads_[i - first];
    if (thread.watch == nullptr || !thread.watch->gives_up(backend_.now(), limit, build)) continue;
    thread.thread.detach();
    thread.watch = nullptr;
    sample.workers[i].abandon("its driver did not return from a call for " +
                              format_duration(limit));
    const std::lock_guard lock(thread_pool_->mutex);
    --thread_pool_->running;
  }
}

void Executor::ThreadPool::serve(std::size_t index) {
  make_sleeps_precise();
  std::uint64_t seen = 0;  // last generation that this thread served
  CpuBinding binding;
  for (;;) {
    std::shared_ptr<Sample> mine;
    DeviceWorker* worker = nullptr;
    std::size_t all = 0;
    bool begins = false;
    {
      std::unique_lock lock(mutex);
      wake.wait(lock, [&] { return stopping || (generation != seen && sample != nullptr); });
      if (stopping) return;
      seen = generation;
      mine = sample;
      if (first + index < mine->workers.size()) worker = &mine->workers[first + index];
      all = asked;
      begins = first == 0;
    }
    if (worker == nullptr) continue;
    binding.to(worker->near_cpus());
    // All workers start together. The last thread to wake starts the clock: any other thread might
    // have to wait for a core first.
    if (ready.fetch_add(1, std::memory_order_acq_rel) + 1 == all) {
      if (begins) mine->run.sample.begin = mine->run.backend.now();
      go.store(seen, std::memory_order_release);
    }
    while (go.load(std::memory_order_acquire) != seen) std::this_thread::yield();
    worker->start();
    while (!worker->left()) {
      if (!worker->step()) worker->rest();
    }
    mine.reset();
    const std::lock_guard lock(mutex);
    if (--running == 0) finished.notify_all();
  }
}

}  // namespace mgpu
