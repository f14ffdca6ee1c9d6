// Exchange between OpenCL devices, each in a context of its own: memory that several contexts know
// (lib/opencl/cl_shared.hpp), copies enqueued by the sender, and an order between devices that is
// kept by flags in that memory, which kernels set and wait for, or by the host. How the direct path
// works is explained in lib/exchange/README.md.
#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "lib/exec/part_of_group.hpp"
#include "lib/opencl/cl_device.hpp"
#include "lib/opencl/cl_shared.hpp"
#include "lib/opencl/cl_slots.hpp"

namespace mgpu {

class ClPeers;

// What goes from one device to another by way of the host, in order: pieces of puts, which lie in
// slots of the sender, and signals.
struct ClMessage {
  std::span<const std::byte> piece;   // empty: a signal
  std::atomic<bool>* slot = nullptr;  // where it lies; to be freed when it has been uploaded
  cl::Buffer into;
  Bytes offset = 0;
  std::shared_ptr<const void> owner;  // of a piece that came from elsewhere
};

// Messages of one ordered pair. The sender's thread adds, the receiver's takes.
class ClMailbox {
 public:
  void add(ClMessage message);
  std::optional<ClMessage> take();
  bool empty() const;

 private:
  mutable std::mutex mutex_;
  std::deque<ClMessage> messages_;
};

class ClPeer final : public Peer {
 public:
  // At most so many devices of a group keep their order by flags: arguments of the kernels in
  // kernels/peers.cl.
  static constexpr std::size_t kMostByFlags = 8;

  ClPeer(ClPeers& group, ClDevice& device, DeviceIndex self);
  // Slots where a pair is staged, the kernel for flags where one is direct. Throws cl::Error,
  // Error(device), Error(out_of_memory).
  void set_up(ClSharedMemory* flags);

  DeviceIndex self() const override { return self_; }
  std::size_t count() const override;
  PeerPath path(DeviceIndex to) const override;
  void put(Buffer& from, Bytes offset, SharedMemory& into, DeviceIndex to, Bytes to_offset,
           Bytes size) override;
  void sync(std::span<const DeviceIndex> signal, std::span<const DeviceIndex> await) override;
  std::optional<FlagWait> flag_wait() override;
  std::uint64_t wait_limit_ns() const override;

  // What the host has to do for exchanges under way. By the device's thread, whenever it asks for
  // completion. Throws cl::Error.
  void go_on();
  // Nobody will ask again: what the device's queues wait for the host for is over.
  void release_all() noexcept;

  // The device that this one cannot go on without, as far as the host passes things on: that has
  // not given the signal that is the next thing to come, or has not taken what fills all slots. By
  // any thread.
  std::optional<DeviceIndex> awaited() const;
  void leak();  // what commands under way may be using
  // Of waits by flags, all of them complete: 0, or 1 + the device whose signal did not come. Throws
  // cl::Error, Error(timeout).
  std::uint32_t read_status();

 private:
  struct Piece {
    cl::Event downloaded;
    ClSlot slot;
    Bytes size = 0;
  };
  // Of a pair, in order: a put through the host, or a signal that the host passes on.
  struct Sending {
    std::uint64_t batch = 0;
    std::vector<cl::Event> since;  // what has to be over before it begins
    bool is_signal = false;
    cl::Buffer from, into;
    std::uint64_t memory = 0;  // into which, where it goes elsewhere
    Bytes offset = 0, to_offset = 0, size = 0;
    Bytes begun = 0, posted = 0;  // bytes whose download was enqueued; that are with the receiver
    std::deque<Piece> pieces;     // begun, and not posted
    cl::UserEvent gate;           // of a put: later commands wait for it
  };
  struct Waiting {
    std::uint64_t batch = 0;
    cl::Event since;  // what has to be over before it begins; null: it is
    cl::UserEvent gate;
  };
  struct Arriving {
    ClMessage message;
    cl::Event uploaded;
  };
  struct Pair {  // with one other device
    std::deque<Sending> sending;
    std::deque<Arriving> arriving;
    std::deque<Waiting> waiting;
    std::uint64_t arrived = 0;  // signals that no wait has taken
  };

  bool by_flags(DeviceIndex other) const;
  void copy(Buffer& from, Bytes offset, const cl::Buffer& to, Bytes to_offset, Bytes size,
            const ExchangeInfo& info);
  void put_by_kernel(Buffer& from, Bytes offset, const cl::Buffer& to, Bytes to_offset, Bytes size,
                     const ExchangeInfo& info);
  void sync_by_flags(unsigned signal, unsigned await);
  std::vector<cl::Event> ready() const;
  struct Gate {
    cl::Event since;  // what was enqueued before it
    cl::UserEvent event;
  };
  Gate shut_gate(Name label, const ExchangeInfo& info);
  std::optional<DeviceIndex> signal_awaited();
  bool send(DeviceIndex to, Pair& pair);
  bool send_pieces(DeviceIndex to, Sending& put);
  void open_when_read(Sending& put);
  bool give_up(Sending& put);
  void post(DeviceIndex to, const Sending& sending, const Piece* piece);
  bool receive(DeviceIndex from, Pair& pair);

  ClPeers& group_;
  ClDevice& device_;
  DeviceIndex self_;
  std::vector<Pair> pairs_;  // by the other device
  std::vector<cl::Event> before_puts_;
  cl::Event puts_end_;  // of the gates of puts that nothing was launched after
  ClSlots slots_;
  bool several_staged_ = false;                         // other devices, which share the slots
  cl::CommandQueue down_;                               // of staged puts
  std::optional<cl::Kernel> sync_kernel_, put_kernel_;  // of the direct path
  std::unique_ptr<Buffer> status_;                      // of waits by flags
  // As go_on() saw it last; see awaited().
  static constexpr std::uint32_t kNobody = ~std::uint32_t{0};
  std::atomic<std::uint32_t> signal_of_ = kNobody, slots_for_ = kNobody;
};

class ClPeers final : public PartOfGroup {
 public:
  // Null for a device that is elsewhere.
  ClPeers(Backend& backend, std::vector<ClDevice*> devices, std::optional<PeerPath> path,
          DevicesElsewhere elsewhere = {});
  ~ClPeers() override;

  std::size_t size() const override { return devices_.size(); }
  Peer& peer(DeviceIndex device) override { return *peers_[device.value]; }
  std::unique_ptr<SharedMemory> allocate(Bytes size) override;
  Bytes most_shared() const override;
  std::unique_ptr<SharedMemory> allocate_reachable(Bytes size) override;
  std::span<const std::string> notes() const override { return notes_; }
  void lose(DeviceIndex device) override;
  void dissolve() override;
  void check(DeviceIndex device) override;
  DeviceIndex awaited_by(DeviceIndex device) override;
  void arrive(DeviceIndex from, DeviceIndex to, Buffer* into, Bytes offset,
              std::span<const std::byte> bytes, std::shared_ptr<const void> owner) override;

 private:
  friend class ClPeer;
  bool is_here(DeviceIndex device) const { return devices_[device.value] != nullptr; }
  std::string id_of(DeviceIndex device) const;
  void notify(DeviceIndex device);
  PeerPath& path_of(DeviceIndex from, DeviceIndex to) {
    return paths_[from.value * devices_.size() + to.value];
  }
  PeerPath path_of(DeviceIndex from, DeviceIndex to) const {
    return paths_[from.value * devices_.size() + to.value];
  }
  ClMailbox& mail(DeviceIndex from, DeviceIndex to) {
    return mail_[from.value * devices_.size() + to.value];
  }
  void find_paths(std::optional<PeerPath> wanted);
  std::string why_not(DeviceIndex from, DeviceIndex to, PeerPath path);
  void try_pair(DeviceIndex from, DeviceIndex to);
  // Empty: memory of one can be imported by others.
  std::string why_not_imported(DeviceIndex device) const;

  Backend& backend_;
  std::vector<ClDevice*> devices_;
  DevicesElsewhere elsewhere_;
  std::vector<PeerPath> paths_;  // by sender and receiver
  std::vector<std::string> notes_;
  std::vector<ClMailbox> mail_;     // likewise
  std::atomic<bool> lost_ = false;  // a device is
  std::mutex losing_;
  std::string loss_;
  std::unique_ptr<ClSharedMemory> flags_;  // null: no pair is direct
  std::vector<std::unique_ptr<ClPeer>> peers_;
};

}  // namespace mgpu
