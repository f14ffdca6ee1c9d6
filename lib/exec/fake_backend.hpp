// A backend without hardware: devices of stated speed, kernels as host functions, failures by script. On its virtual clock
// schedulers, failures, reports and exit codes are tested exactly, on any machine, and `simulate` runs sessions on devices nobody
// has; in real time the executor's threads are tested. When commands start and end is lib/plan/queue_model.hpp's matter.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "lib/device/link_rate.hpp"
#include "lib/exec/backend.hpp"

namespace mgpu {

// A kernel argument as the host function sees it; local memory arrives as its size.
using FakeArg = std::variant<std::span<std::byte>, LocalBytes, std::uint32_t, std::int32_t, std::uint64_t, float, double>;

struct FakeKernelCode {
  std::function<void(const Grid&, std::span<const FakeArg>)> run;    // the result
  std::function<double(const Grid&, std::span<const FakeArg>)> ops;  // what it costs
  std::function<Nanos(std::span<const FakeArg>)>
      time{};  // if there: it takes this long on any device, launch and ops notwithstanding
};
using FakeKernels = std::map<std::string, FakeKernelCode>;  // by entry name

// It has one compute queue: two would share the device, and a model that ran each at full rate would flatter it.
struct FakeDevice {
  Device facts;  // id, type, memory, score as a test needs them
  double ops_per_s = 1e9;
  double up = 1e10, down = 1e10;                // bytes/s; 0: no limit
  Nanos transfer{};                             // added to every upload and download
  Nanos launch = std::chrono::microseconds(5);  // added to every kernel
  Nanos least{};                                // of a kernel with it
  std::int64_t clock_offset_ns = 0;             // device clock = host clock * (1 + drift) + offset
  double clock_drift_ppb = 0;
  enum class Failure { none, error, hang } failure = Failure::none;
  std::uint64_t fails_at_launch = 0;  // the launch, counted from 0 over the device's life, that fails
};

// What all devices together carry, shared fairly at every moment.
struct FakeLink {
  LinkRate up{}, down{};
};

enum class FakeTime { is_virtual, is_real };  // real: a command takes as long as it would

class FakeBackend final : public Backend {
 public:
  FakeBackend(std::vector<FakeDevice> devices, FakeKernels kernels, FakeTime time = FakeTime::is_virtual, FakeLink link = {});
  ~FakeBackend() override;

  Enumeration enumerate() override;
  std::vector<Device> split(const Device& device, unsigned parts) override;  // always Error(unsupported)
  using Backend::open;
  std::unique_ptr<OpenDevice> open(const Device& device, const Handicap& handicap) override;
  std::unique_ptr<PinnedMemory> pin(std::span<const std::byte> memory, std::span<OpenDevice* const> devices) override;  // null
  Nanos now() override;
  bool is_virtual() const override { return time_ == FakeTime::is_virtual; }
  bool advance(std::optional<Nanos> limit) override;
  void spend(Nanos time);  // the host is busy for so long: moves a virtual clock, and nothing else

  struct Machine;  // the queues of all open devices

 private:
  FakeTime time_;
  Nanos now_{};
  std::vector<FakeDevice> devices_;
  FakeKernels kernels_;
  std::shared_ptr<Machine> machine_;
};

// What only fake devices can do, for work of which nothing but the sizes is known.
void fake_transfer(Stream& stream, CommandKind kind, Bytes bytes);  // an upload or download that takes its time and moves nothing
std::span<std::byte> fake_data(Buffer& buffer);                     // what the device holds, without a transfer

}  // namespace mgpu
