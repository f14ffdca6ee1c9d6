// Runs samples: one living worker thread per device (fresh threads cost 3 % at 8 GPUs), or one thread for all on a virtual clock.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <thread>
#include <vector>

#include "lib/exec/worker.hpp"

namespace mgpu {

struct SampleRequest {
  Workload* workload = nullptr;
  SliceSource* source = nullptr;
  std::vector<Member> members;   // by DeviceIndex; at most the executor's number of workers
  DeviceIndex merge_device;      // the fastest of them
  std::optional<Nanos> timeout;  // of a device with work in flight: see SampleRun
  bool merges = true;            // false: a probe, whose source gives out a part of the items only
};

class Executor {
 public:
  // `backend` must outlive the executor. Starts `workers` threads when time is real.
  Executor(Backend& backend, std::size_t workers);
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // Blocks until the sample is over. What went wrong is in `failure` and `faults`; it does not throw for the world's failures.
  RawSample run(const SampleRequest& request);

 private:
  void worker_main(std::size_t index);
  void run_virtual(std::vector<DeviceWorker>& workers);
  void run_threads(SampleRun& run, std::vector<DeviceWorker>& workers);

  Backend& backend_;
  std::mutex mutex_;
  std::condition_variable wake_, finished_;
  std::uint64_t generation_ = 0;
  bool stopping_ = false;
  std::vector<DeviceWorker>* workers_ = nullptr;  // of the sample under way
  std::size_t running_ = 0;
  std::atomic<std::size_t> ready_{0};
  std::atomic<std::uint64_t> go_{0};   // generation that may start
  std::vector<std::jthread> threads_;  // last: joined before what they use is destroyed
};

}  // namespace mgpu
