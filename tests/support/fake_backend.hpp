// A backend without hardware: devices of given speed, kernels as host functions, failures by
// script. On its virtual clock schedulers, failures, reports and exit codes are tested exactly, on
// any machine, and `simulate` runs sessions on devices nobody has; in real time the executor's
// threads are tested. When commands start and end is in lib/plan/queue_model.hpp.
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
  std::function<double(const Grid&, std::span<const FakeArg>)> ops;  // what it costs
  std::function<Nanos(std::span<const FakeArg>)>
      time{};  // if there: it takes this long on any device, launch and ops notwithstanding
};
using FakeKernels = std::map<std::string, FakeKernelCode>;  // by entry name

// Where a script may interfere with a device.
// take: of time stamps. exchange: a put or a signal.
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

// What goes wrong with a call.
struct FakeFault {
  enum class Kind {
    none,
    refused,  // the call throws Error(device)
    error,    // of a command: it ends, and its batch is reported as failed; otherwise as refused
    out_of_memory,  // the call throws Error(out_of_memory)
    hang,  // of a command: it never ends; of another call: Error(timeout), as of one that was given
           // up
    slow,  // of a command: it takes `factor` times as long
    corrupt,  // of a transfer or a put: a bit of what arrives is another
  } kind = Kind::none;
  double factor = 10;
};

// Asked at every call, with the number of calls of that kind before it over the device's life,
// however often it was opened.
using FakeScript = std::function<FakeFault(FakeCall call, std::uint64_t number)>;
// The calls of one kind from `number` on.
FakeScript fails_from(FakeCall call, std::uint64_t number, FakeFault::Kind kind);

// It has one compute queue: two would share the device, and a model that ran each at full rate
// would flatter it.
struct FakeDevice {
  Device facts;  // id, type, memory, score as a test needs them
  double ops_per_s = 1e9;
  double up = 1e10, down = 1e10;                // bytes/s; 0: no limit
  Nanos transfer{};                             // added to every upload and download
  Nanos launch = std::chrono::microseconds(5);  // added to every kernel
  Nanos minimum_kernel{};                       // of a kernel with it
  double peer_bytes_per_s = 1e11;               // of what it puts into other devices' memory
  Nanos peer_latency =
      std::chrono::microseconds(2);  // of each put, and of signals, however many devices they go to
  Nanos build{};                     // what building for it costs, as far as it says
  bool compiles_at_launch = false;   // a kernel, when it is launched for the first time
  std::int64_t clock_offset_ns = 0;  // device clock = host clock * (1 + drift) + offset
  double clock_drift_ppb = 0;
  FakeScript script{};  // none: nothing goes wrong. In real time asked by the thread that drives
                        // the device
  Bytes most_shared = ~Bytes{0};  // of memory that it shares with other devices, in one piece
};

// What all devices together carry, shared fairly at every moment.
struct FakeLink {
  LinkRate up{}, down{};
  NodeNetwork network{};  // between the nodes of the devices, in virtual time; with it `up` and
                          // `down` are those of each node
  PeerLinks peers{};      // between the devices of the backend, in their order; none: each pair has
                          // every path, as FakeDevice says
};

// Real: a command takes as long as it would, and devices that are CPUs notify when it has ended, as
// OpenCL ones do.
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
  // Without stated links every pair has every path, unless the direct one is refused, and all of
  // them take the same time. Throws Error(unsupported) for a path that is not the stated one.
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
  }                        // no pair has the direct path from now on
  void spend(Nanos time);  // the host is busy for so long: moves a virtual clock, and nothing else

  struct Machine;                                          // the queues of all open devices
  FakeFault ask(const FakeDevice& device, FakeCall call);  // its script

 private:
  std::unique_ptr<FakePeers> make_group(std::span<OpenDevice* const> devices,
                                        std::optional<PeerPath> path, DevicesElsewhere elsewhere);

  FakeTime time_;
  Nanos now_{};
  std::vector<FakeDevice> devices_;
  FakeKernels kernels_;
  PeerLinks peers_;
  std::shared_ptr<Machine> machine_;
  std::string no_direct_;  // why there is no direct path; empty: there is
  std::mutex calls_mutex_;
  std::map<std::pair<std::string, FakeCall>, std::uint64_t> calls_;  // so far, by device id
};

// What only fake devices can do, for work of which nothing but the sizes is known.
void fake_transfer(Stream& stream, CommandKind kind,
                   Bytes bytes);  // an upload or download that takes its time and moves nothing
void fake_put(Peer& peer, DeviceIndex to, Bytes bytes);  // likewise, a put
std::span<std::byte> fake_data(Buffer& buffer);  // what the device holds, without a transfer

}  // namespace mgpu
