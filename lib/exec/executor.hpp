// Runs samples: one persistent worker thread per device (fresh threads cost 3 % at 8 GPUs), or one
// thread for all on a virtual clock.
#pragma once

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "lib/exec/worker.hpp"

namespace mgpu {

class DriverWatch;

class Executor {
 public:
  using StartThread = std::function<std::thread(std::function<void()>)>;
  // `backend` must outlive the executor. Starts `workers` threads in real time, through `start` if
  // that is given. Throws Error(internal) when one cannot be started.
  Executor(Backend& backend, std::size_t workers, StartThread start = {});
  // Waits for the workers, but not for those stuck in a driver.
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // Blocks until the sample is over, at most for the timeout after the last sign of life of any
  // device, calls into drivers included. Reports failures of devices and workloads in `failure` and
  // `faults` instead of throwing. A device whose driver does not return from a call keeps its
  // worker's thread: the device, its program and the workload must then not be freed.
  RawSample run(const SampleRequest& request);

 private:
  struct ThreadPool;  // state shared by the threads of the pool
  struct Sample;      // a running sample
  void drive(const std::shared_ptr<Sample>& sample, std::size_t first,
             const SampleRequest& request);
  void drive_virtually(Sample& sample, std::size_t first, const SampleRequest& request);
  void drive_by_threads(const std::shared_ptr<Sample>& sample, std::size_t first,
                        const SampleRequest& request);
  void watch(Sample& sample, std::size_t first, const SampleRequest& request);
  void start_thread(std::size_t index);
  void start_missing_threads();
  void dismiss();  // ends the threads

  Backend& backend_;
  StartThread start_;
  std::shared_ptr<ThreadPool> thread_pool_;  // shared with threads, some of which may never end
  struct Thread {
    std::thread thread;
    std::shared_ptr<DriverWatch> watch;  // shared with the thread; null: to be started
  };
  std::vector<Thread> threads_;
};

}  // namespace mgpu
