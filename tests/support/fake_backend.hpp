// A backend without hardware: devices of given speed, kernels as host functions, failures by
// script. On its virtual clock, schedulers, failures, reports and exit codes are tested exactly on
// any machine, and `simulate` runs sessions on devices that do not exist. In real time it tests the
// executor's threads. lib/plan/queue_model.hpp says when commands start and end.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <variant>
#include <vector>

#include "lib/device/link_rate.hpp"
#include "lib/device/peer_links.hpp"
#include "lib/exec/backend.hpp"
#include "lib/exec/part_of_group.hpp"
#include "lib/plan/network.hpp"

namespace mgpu {

// A kernel argument as the host function sees it; local memory arrives as its size.
using FakeArg = std::variant<std::span<std::byte>, LocalBytes, std::uint32_t, std::int32_t,
                             std::uint64_t, float, double, ValueBytes>;

struct FakeKernelCode {
  std::function<void(const Grid&, std::span<const FakeArg>)> run;    // the result
  std::function<double(const Grid&, std::span<const FakeArg>)> ops;  // its cost in operations
  std::function<Nanos(std::span<const FakeArg>)>
      time{};  // if set: its time on any device, regardless of launch time and ops
};
using FakeKernels = std::map<std::string, FakeKernelCode>;  // key: entry name

// Calls of a device that a script may make fail. `take` takes time stamps; `exchange` is a put or a
// signal.
enum class FakeCall {
  open,
  allocate,
  build,
  upload,
  launch,
  download,
  exchange,
  wait,
  take,
  probe_clock
};

// A fault that a script plants in a call.
struct FakeFault {
  enum class Kind {
    none,
    refused,  // the call throws Error(device)
    error,    // the command ends, and its batch is reported as failed; other calls are refused
    out_of_memory,  // the call throws Error(out_of_memory)
    unsuited,       // the call throws Error(unsupported)
    hang,     // the command never ends; other calls throw Error(timeout), as after a time limit
    slow,     // the command takes `factor` times as long
    corrupt,  // one bit of the data of a transfer or a put arrives flipped
  } kind = Kind::none;
  double factor = 10;
};

// Called at every call, with the number of earlier calls of that kind over the device's life,
// counted across reopenings.
using FakeScript = std::function<FakeFault(FakeCall call, std::uint64_t number)>;
// Returns a script that fails the calls of one kind from `number` on.
FakeScript fails_from(FakeCall call, std::uint64_t number, FakeFault::Kind kind);

// A fake device. It has one compute queue: two would share the device, and a model that ran each at
// full rate would make it look faster than it is.
struct FakeDevice {
  Device facts;  // id, type, memory and score as the test needs them
  double ops_per_s = 1e9;
  double up = 1e10, down = 1e10;                // bytes/s; 0: no limit
  Nanos transfer{};                             // added to every upload and download
  Nanos launch = std::chrono::microseconds(5);  // added to every kernel
  Nanos minimum_kernel{};                       // lower bound of a kernel's time
  double peer_bytes_per_s = 1e11;               // rate of puts into other devices' memory
  // Latency per put, and per batch of signals regardless of the number of receivers.
  Nanos peer_latency = std::chrono::microseconds(2);
  Nanos build{};                     // reported time of building programs
  bool compiles_at_launch = false;   // a kernel is compiled at its first launch
  std::int64_t clock_offset_ns = 0;  // device clock = host clock * (1 + drift) + offset
  double clock_drift_ppb = 0;
  // Chooses failures; none: nothing fails. In real time it is called by the thread that drives the
  // device.
  FakeScript script{};
  std::vector<std::uint32_t> near_cpus{};  // cores that its thread shall run on; empty: any
  Bytes most_shared = ~Bytes{0};  // largest piece of memory that it shares with other devices
};

// Links that carry the traffic of all devices together, shared fairly at every moment.
struct FakeLink {
  LinkRate up{}, down{};
  // Between the nodes of the devices, in virtual time; with it `up` and `down` are those of each
  // node.
  NodeNetwork network{};
  // Between the devices of the backend, in their order; none: each pair has every path, as
  // FakeDevice says.
  PeerLinks peers{};
};

// Kind of the backend's clock. In real time a command takes as long as on the real device, and
// devices that are CPUs notify when it has ended, as OpenCL ones do.
enum class FakeTime { is_virtual, is_real };

class FakePeers;

class FakeBackend final : public Backend, public ConnectsParts {
 public:
  FakeBackend(std::vector<FakeDevice> devices, FakeKernels kernels,
              FakeTime time = FakeTime::is_virtual, FakeLink link = {});
  ~FakeBackend() override;

  Enumeration enumerate() override;
  std::vector<Device> split(const Device& device,
                            unsigned parts) override;  // always Error(unsupported)
  using Backend::open;
  std::unique_ptr<OpenDevice> open(const Device& device, const Handicap& handicap) override;
  std::unique_ptr<PinnedMemory> pin(std::span<const std::byte> memory,
                                    std::span<OpenDevice* const> devices) override;  // null
  // Connects devices. Without stated links every pair has every path, unless the direct one is
  // refused, and all paths take the same time. Throws Error(unsupported) for a path that is not the
  // stated one.
  std::unique_ptr<PeerGroup> connect(std::span<OpenDevice* const> devices,
                                     std::optional<PeerPath> path) override;
  std::unique_ptr<PartOfGroup> connect_part(std::span<OpenDevice* const> devices,
                                            std::optional<PeerPath> path,
                                            DevicesElsewhere elsewhere) override;
  Nanos now() override;
  bool is_virtual() const override { return time_ == FakeTime::is_virtual; }
  bool advance(std::optional<Nanos> limit) override;
  void refuse_direct(std::string why) {
    no_direct_ = std::move(why);
  }                        // removes the direct path between all pairs
  void spend(Nanos time);  // keeps the host busy for `time`; moves only a virtual clock

  struct Machine;                                          // the queues of all open devices
  FakeFault ask(const FakeDevice& device, FakeCall call);  // asks its script

 private:
  std::unique_ptr<FakePeers> make_group(std::span<OpenDevice* const> devices,
                                        std::optional<PeerPath> path, DevicesElsewhere elsewhere);

  FakeTime time_;
  Nanos now_{};
  std::vector<FakeDevice> devices_;
  FakeKernels kernels_;
  PeerLinks peers_;
  std::shared_ptr<Machine> machine_;
  std::string no_direct_;  // why there is no direct path; empty: there is one
  std::mutex calls_mutex_;
  // Calls so far, by device id and kind.
  std::map<std::pair<std::string, FakeCall>, std::uint64_t> calls_;
};

// Operations that only fake devices have, for work of which only the sizes are known.
// Enqueues an upload or download that takes its time and moves no data.
void fake_transfer(Stream& stream, CommandKind kind, Bytes bytes);
// Enqueues a put that takes its time and moves no data.
void fake_put(Peer& peer, DeviceIndex to, Bytes bytes);
// Returns the data on the device, without a transfer.
std::span<std::byte> fake_data(Buffer& buffer);

}  // namespace mgpu
