// A backend without hardware: devices of stated speed, kernels as host functions, failures by script. On its virtual clock
// schedulers, failures, reports and exit codes are tested exactly, on any machine; in real time the executor's threads are.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "lib/exec/backend.hpp"

namespace mgpu {

// A kernel argument as the host function sees it; local memory arrives as its size.
using FakeArg = std::variant<std::span<std::byte>, LocalBytes, std::uint32_t, std::int32_t, std::uint64_t, float, double>;

struct FakeKernelCode {
  std::function<void(const Grid&, std::span<const FakeArg>)> run;    // the result
  std::function<double(const Grid&, std::span<const FakeArg>)> ops;  // what it costs
};
using FakeKernels = std::map<std::string, FakeKernelCode>;  // by entry name

struct FakeDevice {
  Device facts;  // id, type, memory, score as a test needs them
  double ops_per_s = 1e9;
  double up = 1e10, down = 1e10;                // bytes/s
  Nanos launch = std::chrono::microseconds(5);  // added to every kernel
  // 2: launches of slices of slot 1 go to a queue of their own, where their `launch` passes beside the other queue's kernels; the
  // ops of all kernels wait for each other in the order of enqueueing. What a real device gains by filling a narrow kernel's gaps
  // is left out.
  unsigned compute_queues = 1;
  std::int64_t clock_offset_ns = 0;  // device clock = host clock * (1 + drift) + offset
  double clock_drift_ppb = 0;
  enum class Failure { none, error, hang } failure = Failure::none;
  std::uint64_t fails_at_launch = 0;  // the launch, counted from 0 over the device's life, that fails
};

enum class FakeTime { is_virtual, is_real };  // real: a command takes as long as it would

class FakeBackend final : public Backend {
 public:
  FakeBackend(std::vector<FakeDevice> devices, FakeKernels kernels, FakeTime time = FakeTime::is_virtual);
  ~FakeBackend() override;

  Enumeration enumerate() override;
  std::vector<Device> split(const Device& device, unsigned parts) override;  // always Error(unsupported)
  using Backend::open;
  std::unique_ptr<OpenDevice> open(const Device& device, const Handicap& handicap) override;
  std::unique_ptr<PinnedMemory> pin(std::span<const std::byte> memory, std::span<OpenDevice* const> devices) override;  // null
  Nanos now() override;
  bool is_virtual() const override { return time_ == FakeTime::is_virtual; }
  bool advance(std::optional<Nanos> limit) override;

  struct Timer;  // completions to come, shared with open devices; virtual time only

 private:
  FakeTime time_;
  Nanos now_{};
  std::vector<FakeDevice> devices_;
  FakeKernels kernels_;
  std::shared_ptr<Timer> timer_;
};

}  // namespace mgpu
