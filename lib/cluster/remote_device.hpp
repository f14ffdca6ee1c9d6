// A device of another rank, as rank 0 sees it: commands are sent there as they are enqueued;
// results and completions come back by themselves. An error there is reported when completion is
// asked for.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lib/cluster/node_link.hpp"
#include "lib/exec/backend.hpp"

namespace mgpu {

class RemoteDevice final : public OpenDevice, private DeviceResources, private Stream {
 public:
  // `id` is the device's id on its own rank. `backend` must outlive it. Throws Error(device),
  // Error(timeout), Error(interrupted).
  RemoteDevice(Backend& backend, std::shared_ptr<NodeLink> link, const Device& facts,
               const std::string& id, const Handicap& handicap);
  ~RemoteDevice() override;

  DeviceResources& resources() override { return *this; }
  Stream& stream() override { return *this; }
  void begin_slice() override { link_->send(NodeLink::begin(Call::begin_slice, number_)); }
  BatchId submit() override;
  bool complete(BatchId batch) override;
  bool may_compile(BatchId batch) override { return compiling_.contains(batch.value); }
  bool notifies() const override { return true; }
  DeviceSpan span(BatchId batch) override;
  std::vector<RawCommand> take(BatchId batch) override;
  std::vector<ClockProbe> probe_clock(unsigned count) override;
  SetupCost take_setup_cost() override;
  void abandon() override;
  bool drained() override;
  Bytes free_memory() override;

  RankNumber rank() const { return link_->rank(); }
  std::uint32_t number() const { return number_; }  // number of the device on its rank
  // Serve the group that the device is in: join() sets its participant; the others send its calls.
  void join(Peer* peer) { peer_ = peer; }
  Writer begin(Call call) const { return NodeLink::begin(call, number_); }
  void send(Writer call) { link_->send(std::move(call)); }
  // Returns the device's piece of memory of the group, or another's as its kernels reach it; null:
  // they do not.
  std::unique_ptr<Buffer> shared_piece(std::uint64_t group, std::uint64_t memory, DeviceIndex by,
                                       DeviceIndex of, Bytes size);
  void check_exchange(std::uint64_t group, DeviceIndex device);  // PeerGroup::check
  bool may_be_in_flight() const;  // it was abandoned, and may still be running

  // Returns the number by which the device's rank knows a buffer.
  std::uint64_t number_of(const Buffer& buffer) const;
  void forget(Call how, std::uint64_t object);
  std::optional<std::vector<KernelParameter>> parameters_of(std::uint64_t kernel);

 private:
  const DeviceTraits& traits() const override { return traits_; }
  Peer* peer() override { return peer_; }
  std::unique_ptr<Buffer> allocate(Bytes size) override;
  std::unique_ptr<Kernel> kernel(std::string_view file, std::string_view entry,
                                 const std::string& options) override;
  std::unique_ptr<Kernel> foreign_kernel(const KernelSource& source, std::string_view entry,
                                         const std::string& options) override;
  std::unique_ptr<Buffer> part(Buffer& whole, Bytes offset, Bytes size) override;
  std::optional<Nanos> try_out(const std::function<void(Stream&)>& commands) override;
  void upload(Buffer& to, Bytes offset, std::span<const std::byte> from) override;
  void launch(Kernel& kernel, const Grid& grid, std::span<const KernelArg> args) override;
  void download(Buffer& from, Bytes offset, std::span<std::byte> to) override;
  void begin_series(unsigned count) override;
  void upload_rows(Buffer& to, const std::byte* from, const Rows& rows) override;
  void download_rows(Buffer& from, std::byte* to, const Rows& rows) override;

  Writer asking(Call call) { return link_->begin_asking(call, number_); }
  Message ask(Writer call, const std::string& what);
  std::unique_ptr<Kernel> made_kernel(std::uint64_t number, std::string_view entry, Writer call);
  void tell_slow_down();

  Backend& backend_;
  std::shared_ptr<NodeLink> link_;
  std::shared_ptr<RemoteArrivals> arrivals_ = std::make_shared<RemoteArrivals>();
  std::uint32_t number_ = 0;  // number of the open device on its rank
  DeviceTraits traits_;
  std::uint64_t next_object_ = 1, next_batch_ = 1, next_download_ = 1;
  std::optional<Nanos> slowed_from_;   // the time that its rank was told last
  std::set<std::uint64_t> compiling_;  // batches that launch a kernel for the first time
  std::uint64_t abandons_ = 0;
  Peer* peer_ = nullptr;  // null: the device is in no group
};

}  // namespace mgpu
