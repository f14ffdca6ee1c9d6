// Exchange between OpenCL devices, each in a context of its own: memory that several contexts know
// (lib/opencl/cl_shared.hpp), copies that the sender enqueues, and synchronisation either by flags
// in that memory, which kernels set and wait for, or by the host. lib/exchange/README.md explains
// how the direct path works.
#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/exec/part_of_group.hpp"
#include "lib/opencl/cl_device.hpp"
#include "lib/opencl/cl_shared.hpp"
#include "lib/opencl/cl_slots.hpp"

namespace mgpu {

class ClPeers;

// Message from one device to another through the host: a piece of a put, which lies in a slot of
// the sender, or a signal. Messages of a pair stay in order.
struct ClMessage {
  std::span<const std::byte> piece;  // empty: a signal
  // Slot that contains the piece; freed when it has been uploaded.
  std::atomic<bool>* slot = nullptr;
  cl::Buffer into;
  Bytes offset = 0;
  std::shared_ptr<const void> owner;  // owner of a piece that came from elsewhere
};

// Messages of one ordered pair: the sender's thread adds them, the receiver's takes them.
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
  // Largest number of devices of a group that synchronise by flags: arguments of the kernels in
  // kernels/peers.cl.
  static constexpr std::size_t kMostByFlags = 8;

  ClPeer(ClPeers& group, ClDevice& device, DeviceIndex self);
  // Makes the slots if a pair is staged, and the kernel for flags if one is direct. Throws
  // cl::Error, Error(device), Error(out_of_memory).
  void set_up(ClSharedMemory* flags);

  // Returns why its data goes to other processes through memory of the host; none: it does not.
  const std::optional<std::string>& why_through_host() const { return slots_.why_not_in_place(); }

  DeviceIndex self() const override { return self_; }
  std::size_t count() const override;
  PeerPath path(DeviceIndex to) const override;
  void put(Buffer& from, Bytes offset, SharedMemory& into, DeviceIndex to, Bytes to_offset,
           Bytes size) override;
  void sync(std::span<const DeviceIndex> signal, std::span<const DeviceIndex> await) override;
  std::optional<FlagWait> flag_wait() override;
  std::uint64_t wait_limit_ns() const override;

  // Whether the host passes anything on, so that commands may belong to no batch.
  bool asks_host() const { return asks_host_; }
  // Does what the host has to do for exchanges under way. Called by the device's thread whenever it
  // asks for completion. Throws cl::Error.
  void go_on();
  // Ends every wait of the device's queues for the host, as go_on() will not be called again.
  void release_all() noexcept;

  // Returns the device that this one cannot go on without, as far as the host passes data on: the
  // one whose signal must come next, or the one that has not taken the data that fills all slots.
  // For any thread.
  std::optional<DeviceIndex> awaited() const;
  void leak();  // leaks what commands under way may be using
  // Returns the status of all waits by flags, all of them complete: 0, or 1 + the device whose
  // signal did not come. Throws cl::Error, Error(timeout).
  std::uint32_t read_status();

 private:
  struct Piece {
    cl::Event downloaded;
    ClSlot slot;
    Bytes size = 0;
  };
  // Put through the host, or signal that the host passes on; those of a pair stay in order.
  struct Sending {
    std::uint64_t batch = 0;
    std::vector<cl::Event> since;  // what must end before it begins
    bool is_signal = false;
    cl::Buffer from, into;
    std::uint64_t memory = 0;  // number of the target memory, if that is elsewhere
    Bytes offset = 0, to_offset = 0, size = 0;
    Bytes begun = 0, posted = 0;  // bytes whose download was enqueued; bytes that were sent
    std::deque<Piece> pieces;     // begun, but not posted
    cl::UserEvent gate;           // gate of a put: later commands wait for it
  };
  struct Waiting {
    std::uint64_t batch = 0;
    cl::Event since;  // what must end before it begins; null: it has ended
    cl::UserEvent gate;
  };
  struct Arriving {
    ClMessage message;
    cl::Event uploaded;
  };
  struct Pair {  // state of the exchange with one other device
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
    cl::Event since;  // the command enqueued before it
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
  std::vector<Pair> pairs_;  // indexed by the other device
  std::vector<cl::Event> before_puts_;
  cl::Event puts_end_;  // end of the gates of puts, if nothing was launched since
  ClSlots slots_;
  bool asks_host_ = false;
  bool several_staged_ = false;  // more than one staged receiver, which share the slots
  cl::CommandQueue down_;        // queue of downloads for staged puts
  std::optional<cl::Kernel> sync_kernel_, put_kernel_;  // kernels of the direct path
  std::unique_ptr<Buffer> status_;                      // status of waits by flags
  // Devices awaited at the last go_on(); see awaited().
  static constexpr std::uint32_t kNobody = ~std::uint32_t{0};
  std::atomic<std::uint32_t> signal_of_ = kNobody, slots_for_ = kNobody;
};

class ClPeers final : public PartOfGroup {
 public:
  // `devices` has null for a device that is elsewhere.
  ClPeers(Backend& backend, std::vector<ClDevice*> devices, std::optional<PeerPath> path,
          DevicesElsewhere elsewhere = {});
  ~ClPeers() override;

  std::size_t size() const override { return devices_.size(); }
  Peer& peer(DeviceIndex device) override { return *peers_[device.value]; }
  std::unique_ptr<SharedMemory> allocate(Bytes size) override;
  Bytes most_shared() const override;
  std::unique_ptr<SharedMemory> allocate_reachable(Bytes size) override;
  std::span<const std::string> notes() const override { return notes_; }
  void mark_failed(DeviceIndex device) override;
  void dissolve() override;
  void check(DeviceIndex device) override;
  DeviceIndex awaited_by(DeviceIndex device) override;
  std::optional<std::string> why_through_host() const override;
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
  std::string why_not_tried(DeviceIndex from, DeviceIndex to, PeerPath path);
  void try_pair(DeviceIndex from, DeviceIndex to, PeerPath path);
  // Returns why memory of the device cannot be imported by others; empty: it can.
  std::string why_not_imported(DeviceIndex device) const;

  Backend& backend_;
  std::vector<ClDevice*> devices_;
  DevicesElsewhere elsewhere_;
  std::vector<PeerPath> paths_;  // indexed by sender and receiver
  // Why CPUs of two platforms cannot exchange in host memory, by platforms; empty: they can.
  std::map<std::pair<std::string, std::string>, std::string> why_not_host_;
  std::vector<std::string> notes_;
  std::vector<ClMailbox> mail_;     // indexed by sender and receiver
  std::atomic<bool> lost_ = false;  // a device has failed
  std::mutex losing_;
  std::string loss_;
  std::unique_ptr<ClSharedMemory> flags_;  // null: no pair is direct
  std::vector<std::unique_ptr<ClPeer>> peers_;
};

}  // namespace mgpu
