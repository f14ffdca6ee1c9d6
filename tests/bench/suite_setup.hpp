// One problem of a suite, in one mode, set up on all devices of the default selection, to take
// samples one at a time.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/session/group.hpp"

namespace mgpu::bench {

// The devices that `mgpu-bench run` takes if none is named, opened; a lone CPU becomes a sub-device
// per core, at most 8.
class Machine {
 public:
  Machine();  // throws Error(no_device) if there is none
  Backend& backend() { return *backend_; }
  std::vector<SessionDevice>& devices() { return devices_; }
  Executor& executor() { return *executor_; }
  bool only_gpus() const;
  std::string words() const;  // "2 x NVIDIA H200"

 private:
  std::unique_ptr<Backend> backend_;
  std::vector<SessionDevice> devices_;
  std::unique_ptr<Executor> executor_;
};

// A problem with programs built, inputs loaded and devices probed. Throws Error if a device cannot
// do it.
class SuiteSetup {
 public:
  SuiteSetup(Machine& machine, const SuiteInfo& suite, std::uint64_t size, Mode mode);

  // Begins a case: forgets what its strategy learnt from samples of another.
  void begin(const StrategyChoice& strategy);
  // Executes the whole problem once. Throws Error if it has no result or a device failed.
  Nanos sample();
  // Throws Error(device) if the last result is wrong.
  void verify();
  const Shape& shape() const { return workload_->shape(); }

 private:
  void probe(std::span<const std::size_t> devices);
  std::vector<Participant> participants(std::span<const std::size_t> devices);
  void finish_on(std::size_t index);

  Machine& machine_;
  Mode mode_;
  std::unique_ptr<Workload> workload_;
  std::unique_ptr<PinnedMemory> pinned_;
  std::vector<Prepared> prepared_;
  std::optional<Predictor> predictor_;
  Case case_;
};

}  // namespace mgpu::bench
