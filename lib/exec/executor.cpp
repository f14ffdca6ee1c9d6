// See the header.
#include "lib/exec/executor.hpp"

#ifdef __linux__
#include <sys/prctl.h>
#endif

namespace mgpu {
namespace {

// 1 us of timer slack instead of Linux's 50: a worker that sleeps until a hold is over wakes when it asked to.
void make_sleeps_precise() {
#ifdef __linux__
  prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);
#endif
}

}  // namespace

Executor::Executor(Backend& backend, std::size_t workers) : backend_(backend) {
  if (backend_.is_virtual()) return;
  for (std::size_t i = 0; i < workers; ++i) threads_.emplace_back([this, i] { worker_main(i); });
}

Executor::~Executor() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
}

RawSample Executor::run(const SampleRequest& request) {
  SampleRun run{.backend = backend_,
                .source = *request.source,
                .workload = *request.workload,
                .members = request.members,
                .merge_device = request.merge_device,
                .timeout = request.timeout,
                .merges = request.merges,
                .mutex = {},
                .settled = std::vector<std::uint64_t>(request.members.size(), 0),
                .alive = std::vector<bool>(request.members.size(), true),
                .listening = std::vector<std::atomic<bool>>(request.members.size()),
                .finished = 0,
                .sample = {}};
  request.workload->expect(request.members.size());
  request.workload->begin_sample();
  std::vector<DeviceWorker> workers;
  workers.reserve(request.members.size());
  for (std::uint32_t i = 0; i < request.members.size(); ++i) workers.emplace_back(run, DeviceIndex{i});
  if (backend_.is_virtual()) {
    run.sample.begin = backend_.now();
    run_virtual(workers);
  } else {
    run_threads(run, workers);
  }
  return std::move(run.sample);
}

void Executor::run_virtual(std::vector<DeviceWorker>& workers) {
  for (auto& worker : workers) worker.start();
  for (bool busy = true; busy;) {
    bool progress = false;
    busy = false;
    std::optional<Nanos> limit;
    for (auto& worker : workers) {
      progress |= worker.step();
      busy |= !worker.left();
      if (const auto mine = worker.gives_up_at(); mine && (!limit || *mine < *limit)) limit = mine;
    }
    if (busy && !progress && !backend_.advance(limit))
      throw Error(ErrorKind::internal, "every worker waits and nothing is under way");
  }
}

void Executor::run_threads(SampleRun& run, std::vector<DeviceWorker>& workers) {
  std::uint64_t generation = 0;
  {
    const std::lock_guard lock(mutex_);
    workers_ = &workers;
    running_ = workers.size();
    ready_ = 0;
    generation = ++generation_;
  }
  wake_.notify_all();
  // All start together: the clock begins when every thread is awake, not when the first is.
  while (ready_.load(std::memory_order_acquire) < workers.size()) std::this_thread::yield();
  run.sample.begin = backend_.now();
  go_.store(generation, std::memory_order_release);
  std::unique_lock lock(mutex_);
  finished_.wait(lock, [&] { return running_ == 0; });
  workers_ = nullptr;
}

void Executor::worker_main(std::size_t index) {
  make_sleeps_precise();
  std::uint64_t seen = 0;
  for (;;) {
    DeviceWorker* worker = nullptr;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return stopping_ || (generation_ != seen && workers_ != nullptr); });
      if (stopping_) return;
      seen = generation_;
      if (index < workers_->size()) worker = &(*workers_)[index];
    }
    if (worker == nullptr) continue;
    ready_.fetch_add(1, std::memory_order_acq_rel);
    while (go_.load(std::memory_order_acquire) != seen) std::this_thread::yield();
    worker->start();
    while (!worker->left()) {
      if (!worker->step()) worker->rest();
    }
    const std::lock_guard lock(mutex_);
    if (--running_ == 0) finished_.notify_all();
  }
}

}  // namespace mgpu
