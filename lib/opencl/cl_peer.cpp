// A participant: the device's end of a group, with what it enqueues and what the host does for it
// while exchanges are under way.
#include <algorithm>
#include <bit>
#include <utility>

#include "lib/exec/driver_call.hpp"
#include "lib/exec/leak.hpp"
#include "lib/opencl/cl_objects.hpp"
#include "lib/opencl/cl_peers.hpp"
#include "lib/opencl/cl_wait.hpp"

namespace mgpu {
namespace {

constexpr std::string_view kKernels = "peers.cl";
// Share of the time that the host waits for an answer, after which a kernel stops waiting for a
// flag. So it says which device it waited for before the host counts its own device as hung.
constexpr double kShareOfAnswer = 0.5;
// Largest put that a kernel stores into another GPU's memory, which starts sooner than a copy: of 1
// MiB a copy moves 108 GB/s, of 16 MiB 327, of 256 MiB 371, as much as kernels do (two H200).
// Larger puts leave the cores to kernels.
constexpr Bytes kByKernel = Bytes{32} << 20;

const Name kPutLabel("put"), kArrivalLabel("arrival"), kSyncLabel("sync"), kSendingLabel("sending"),
    kWaitLabel("wait");

bool is_over(const cl::Event& event) {
  if (event() == nullptr) return true;
  const cl_int status = status_of(event);
  if (status < 0) throw cl::Error(status, "a command of an exchange");
  return status == CL_COMPLETE;
}

bool all_over(const std::vector<cl::Event>& events) {
  return std::all_of(events.begin(), events.end(), is_over);
}

}  // namespace

ClPeer::ClPeer(ClPeers& group, ClDevice& device, DeviceIndex self)
    : group_(group), device_(device), self_(self), pairs_(group.size()) {}

void ClPeer::set_up(ClSharedMemory* flags) {
  const DriverCall inside(&device_);
  std::size_t staged = 0;
  for (std::uint32_t i = 0; i < count(); ++i)
    staged += i != self_.value && path({i}) == PeerPath::staged ? 1 : 0;
  several_staged_ = staged > 1;
  for (std::uint32_t i = 0; i < count(); ++i) asks_host_ |= i != self_.value && !by_flags({i});
  if (staged > 0) {
    // Devices of this process receive from slots at the host.
    bool by_host = false;
    for (std::uint32_t i = 0; i < count(); ++i)
      by_host |= i != self_.value && group_.is_here({i}) && path({i}) == PeerPath::staged;
    const bool in_place = !group_.elsewhere_.ids.empty() &&
                          !group_.elsewhere_.why_no_device_memory &&
                          (!by_host || device_.facts().is_cpu());
    slots_.make(device_, in_place);
    // A queue of its own: commands that the host enqueues when it can must not come behind
    // downloads that wait for data which the host passes on.
    down_ =
        cl::CommandQueue(device_.context(), device_.context().getInfo<CL_CONTEXT_DEVICES>().front(),
                         CL_QUEUE_PROFILING_ENABLE);
  }
  if (flags == nullptr) return;
  status_ = device_.resources().allocate(sizeof(cl_uint));
  device_.clear(*status_);
  put_kernel_ = device_.make_kernel(kKernels, "put", "");
  sync_kernel_ = device_.make_kernel(kKernels, "sync", "");
  sync_kernel_->setArg(2, cl_uint{self_.value});
  sync_kernel_->setArg(3, memory_of(*status_));
  sync_kernel_->setArg(4, cl_ulong{flag_wait()->limit_ns});
  for (std::uint32_t i = 0; i < kMostByFlags; ++i) {
    Buffer* of = i < count() ? flags->remote(self_, {i}) : nullptr;
    sync_kernel_->setArg(5 + i, memory_of(of != nullptr ? *of : flags->piece(self_)));
  }
}

std::optional<Peer::FlagWait> ClPeer::flag_wait() {
  if (!status_) return std::nullopt;
  return FlagWait{status_.get(), wait_limit_ns()};
}

std::uint64_t ClPeer::wait_limit_ns() const {
  return static_cast<std::uint64_t>(seconds(device_.backend().limits().answer) * kShareOfAnswer *
                                    1e9);
}

std::uint32_t ClPeer::read_status() {
  if (!status_) return 0;
  const auto status = std::make_shared<cl_uint>(0);
  const cl::CommandQueue& queue = device_.queue(CommandKind::download);
  const DriverCall inside(&device_);
  cl::Event event;
  queue.enqueueReadBuffer(memory_of(*status_), CL_FALSE, 0, sizeof(cl_uint), status.get(), nullptr,
                          &event);
  queue.flush();
  try {
    device_.wait_for_command(event);
  } catch (...) {
    leak_shared(status);
    throw;
  }
  return *status;
}

std::size_t ClPeer::count() const { return group_.size(); }
PeerPath ClPeer::path(DeviceIndex to) const { return group_.path_of(self_, to); }

bool ClPeer::by_flags(DeviceIndex other) const {
  return group_.path_of(self_, other) == PeerPath::direct;
}

void ClPeer::put(Buffer& from, Bytes offset, SharedMemory& into, DeviceIndex to, Bytes to_offset,
                 Bytes size) {
  if (size == 0) return;
  const ExchangeInfo info{to, path(to), false};
  const DriverCall inside(&device_);
  try {
    if (Buffer* reached = into.remote(self_, to)) {
      if (info.path == PeerPath::direct && to != self_ && size <= kByKernel)
        return put_by_kernel(from, offset, memory_of(*reached), to_offset, size, info);
      return copy(from, offset, memory_of(*reached), to_offset, size, info);
    }
    Pair& pair = pairs_[to.value];
    Sending& put = pair.sending.emplace_back();
    put.batch = device_.open_batch();
    put.since = ready();
    put.from = memory_of(from);
    if (group_.is_here(to))
      put.into = memory_of(into.piece(to));
    else
      put.memory = static_cast<const NumberedMemory&>(into).number();
    put.offset = offset;
    put.to_offset = to_offset;
    put.size = size;
    put.gate = shut_gate(kSendingLabel, info).event;
    if (several_staged_)
      for (const cl::Event& event : put.since) device_.notify_after(event);
    device_.expect_more(put.batch);
    before_puts_ = put.since;
    puts_end_ = device_.launched();
    send(to, pair);
  } catch (const cl::Error& error) {
    throw cl_failure("putting " + std::to_string(size) + " bytes from " + device_.facts().id,
                     error.err());
  }
}

// Returns what must end before a put or a signal that the host passes on.
std::vector<cl::Event> ClPeer::ready() const {
  // Puts through the host close a gate for kernels, which neither their signal nor other puts have
  // to wait for.
  std::vector<cl::Event> events;
  if (puts_end_() != nullptr && device_.launched()() == puts_end_()) {
    events = before_puts_;
  } else if (device_.launched()() != nullptr) {
    events.push_back(device_.launched());
  }
  if (device_.uploaded()() != nullptr) events.push_back(device_.uploaded());
  return events;
}

void ClPeer::copy(Buffer& from, Bytes offset, const cl::Buffer& to, Bytes to_offset, Bytes size,
                  const ExchangeInfo& info) {
  cl::Event event;
  device_.queue(CommandKind::compute)
      .enqueueCopyBuffer(memory_of(from), to, offset, to_offset, size, device_.uploads(), &event);
  device_.notify_after(event);
  device_.record_exchange(device_.open_batch(), CommandKind::compute, std::move(event), kPutLabel,
                          size, info);
}

void ClPeer::put_by_kernel(Buffer& from, Bytes offset, const cl::Buffer& to, Bytes to_offset,
                           Bytes size, const ExchangeInfo& info) {
  constexpr std::size_t kGroup = 512, kGroupsPerUnit = 4;
  const std::size_t most = device_.facts().compute_units * kGroupsPerUnit,
                    wanted = (size / 16 + kGroup - 1) / kGroup;
  const std::size_t items = std::clamp<std::size_t>(wanted, 1, most) * kGroup;
  put_kernel_->setArg(0, to);
  put_kernel_->setArg(1, cl_ulong{to_offset});
  put_kernel_->setArg(2, memory_of(from));
  put_kernel_->setArg(3, cl_ulong{offset});
  put_kernel_->setArg(4, cl_ulong{size});
  cl::Event event;
  device_.queue(CommandKind::compute)
      .enqueueNDRangeKernel(*put_kernel_, cl::NullRange, cl::NDRange(items), cl::NDRange(kGroup),
                            device_.uploads(), &event);
  device_.record_exchange(device_.open_batch(), CommandKind::compute, std::move(event), kPutLabel,
                          size, info);
}

// Closes a gate that the device's later kernels and exchanges wait for.
ClPeer::Gate ClPeer::shut_gate(Name label, const ExchangeInfo& info) {
  cl::Event since = device_.launched();
  if (since() == nullptr) since = device_.mark();
  cl::UserEvent gate(device_.context());
  const std::vector<cl::Event> gates{gate};
  device_.queue(CommandKind::compute).enqueueBarrierWithWaitList(&gates, nullptr);
  cl::Event end = device_.mark();  // NVIDIA does not stamp barriers (cl_holds.cpp)
  device_.notify_after(end);
  device_.record_exchange(device_.open_batch(), CommandKind::compute, std::move(end), label, 0,
                          info, since);
  return {std::move(since), std::move(gate)};
}

void ClPeer::sync(std::span<const DeviceIndex> signal, std::span<const DeviceIndex> await) {
  const DriverCall inside(&device_);
  try {
    unsigned signal_flags = 0, await_flags = 0;
    for (const DeviceIndex to : signal) {
      if (by_flags(to)) {
        signal_flags |= 1u << to.value;
        continue;
      }
      Sending& signalling = pairs_[to.value].sending.emplace_back();
      signalling.batch = device_.open_batch();
      signalling.is_signal = true;
      signalling.since = ready();
      for (const cl::Event& event : signalling.since) device_.notify_after(event);
      device_.expect_more(signalling.batch);
    }
    for (const DeviceIndex from : await)
      if (by_flags(from)) await_flags |= 1u << from.value;
    if ((signal_flags | await_flags) != 0) sync_by_flags(signal_flags, await_flags);
    for (const DeviceIndex from : await) {
      if (by_flags(from)) continue;
      const std::uint64_t batch = device_.open_batch();
      Gate gate = shut_gate(kWaitLabel, {from, path(from), true});
      pairs_[from.value].waiting.push_back({batch, std::move(gate.since), std::move(gate.event)});
      device_.expect_more(batch);
    }
  } catch (const cl::Error& error) {
    throw cl_failure("an exchange of " + device_.facts().id, error.err());
  }
}

// Enqueues one kernel that sets the others' flags, then waits for its own.
void ClPeer::sync_by_flags(unsigned signal, unsigned await) {
  sync_kernel_->setArg(0, cl_uint{signal});
  sync_kernel_->setArg(1, cl_uint{await});
  cl::Event event;
  device_.queue(CommandKind::compute)
      .enqueueNDRangeKernel(*sync_kernel_, cl::NullRange, cl::NDRange(kMostByFlags),
                            cl::NDRange(kMostByFlags), device_.uploads(), &event);
  const auto first = static_cast<std::uint32_t>(std::countr_zero(await != 0 ? await : signal));
  device_.record_exchange(device_.open_batch(), CommandKind::compute, std::move(event), kSyncLabel,
                          0, {{first}, PeerPath::direct, await != 0});
}

void ClPeer::go_on() {
  bool acted = false;
  for (std::uint32_t i = 0; i < pairs_.size(); ++i) {
    Pair& pair = pairs_[i];
    if (!pair.sending.empty()) acted |= send({i}, pair);
    if (pair.waiting.empty()) continue;
    acted |= receive({i}, pair);
  }
  if (acted) device_.flush_queues();
  signal_of_ = signal_awaited().value_or(DeviceIndex{kNobody}).value;
  const bool stuck = std::any_of(pairs_.begin(), pairs_.end(), [](const Pair& pair) {
    return !pair.sending.empty() && pair.sending.front().begun < pair.sending.front().size &&
           pair.sending.front().pieces.empty();
  });
  slots_for_ = stuck && slots_.full() ? slots_.receiver().value : kNobody;
}

// Returns the device whose signal is awaited. None: commands of the device itself, uploads of
// arrived data among them, must end first.
std::optional<DeviceIndex> ClPeer::signal_awaited() {
  for (std::uint32_t i = 0; i < pairs_.size(); ++i) {
    Pair& pair = pairs_[i];
    if (pair.waiting.empty() || !pair.arriving.empty()) continue;
    cl::Event& since = pair.waiting.front().since;
    if (since() != nullptr && status_of(since) > CL_COMPLETE) continue;
    since = {};  // each query costs a microsecond
    return DeviceIndex{i};
  }
  return std::nullopt;
}

// Sends as much as possible to one device; returns true if anything was done.
bool ClPeer::send(DeviceIndex to, Pair& pair) {
  bool acted = false;
  while (!pair.sending.empty()) {
    Sending& first = pair.sending.front();
    if (first.is_signal) {
      if (!all_over(first.since)) break;
      post(to, first, nullptr);
    } else {
      acted |= group_.lost_ ? give_up(first) : send_pieces(to, first);
      if (first.posted < first.size) break;
      if (first.gate() != nullptr) first.gate.setStatus(CL_COMPLETE);
    }
    device_.expect_less(first.batch);
    pair.sending.pop_front();
    acted = true;
  }
  return acted;
}

// Posts a piece, or a signal if `piece` is null.
void ClPeer::post(DeviceIndex to, const Sending& sending, const Piece* piece) {
  const std::span<const std::byte> bytes =
      piece != nullptr ? std::span(piece->slot.memory, piece->size) : std::span<std::byte>();
  const Bytes at = sending.to_offset + sending.posted;
  if (!group_.is_here(to)) {
    PeerParcel parcel{self_, to, sending.memory, at, bytes};
    const bool in_place = piece != nullptr && !slots_.why_not_in_place();
    if (in_place) {
      parcel.begin = slots_.entrance();
      parcel.sent = [owner = slots_.owner(), taken = piece->slot.taken,
                     notifier = device_.notified()] {
        taken->store(false, std::memory_order_release);
        notifier->notify();  // the device may go on with the next piece
      };
    }
    group_.elsewhere_.send(parcel);
    if (piece != nullptr && !in_place) piece->slot.taken->store(false, std::memory_order_release);
    return;
  }
  group_.mail(self_, to).add(
      {bytes, piece != nullptr ? piece->slot.taken : nullptr, sending.into, at, nullptr});
  group_.notify(to);
}

bool ClPeer::send_pieces(DeviceIndex to, Sending& put) {
  bool acted = false;
  // A put that waits for others' data must not hold slots that this data needs on its way: that
  // would be a deadlock. Puts to a single other device go in order, and their downloads may be
  // enqueued ahead.
  if (several_staged_ && put.begun == 0 && !all_over(put.since)) return false;
  // A piece is a quarter of the put, so that sending and receiving overlap, but not so small that
  // latency dominates.
  constexpr Bytes kSmallest = Bytes{256} << 10;
  const Bytes piece = std::clamp(put.size / 4, kSmallest, ClSlots::kSize);
  while (put.begun < put.size) {
    const auto slot = slots_.take(to);
    if (!slot) break;
    const Bytes size = std::min(piece, put.size - put.begun);
    cl::Event downloaded;
    const std::vector<cl::Event>* const after = put.since.empty() ? nullptr : &put.since;
    if (const cl::Buffer* const on_device = slots_.on_device())
      down_.enqueueCopyBuffer(put.from, *on_device, put.offset + put.begun, slots_.offset_of(*slot),
                              size, after, &downloaded);
    else
      down_.enqueueReadBuffer(put.from, CL_FALSE, put.offset + put.begun, size, slot->memory, after,
                              &downloaded);
    device_.notify_after(downloaded);
    device_.record_exchange(put.batch, CommandKind::download, downloaded, kPutLabel, size,
                            {to, PeerPath::staged, false});
    put.pieces.push_back({std::move(downloaded), *slot, size});
    put.begun += size;
    acted = true;
  }
  if (acted) down_.flush();
  while (!put.pieces.empty() && is_over(put.pieces.front().downloaded)) {
    if (!group_.is_here(to)) open_when_read(put);
    const Piece& done = put.pieces.front();
    post(to, put, &done);
    put.posted += done.size;
    put.pieces.pop_front();
    acted = true;
  }
  return acted;
}

// Opens the gate once the put's memory has been read: the device's kernels may overwrite it then.
// Posting it elsewhere takes longer than that.
void ClPeer::open_when_read(Sending& put) {
  if (put.gate() == nullptr || put.begun < put.size || !is_over(put.pieces.back().downloaded))
    return;
  put.gate.setStatus(CL_COMPLETE);
  put.gate = cl::UserEvent();
  device_.flush_queues();
}

// Ends a put after a device of the group has failed, as slots may stay taken for ever: what has
// begun ends, the rest is dropped.
bool ClPeer::give_up(Sending& put) {
  while (!put.pieces.empty() && is_over(put.pieces.front().downloaded)) put.pieces.pop_front();
  if (!put.pieces.empty()) return false;
  put.posted = put.size;
  return true;
}

// Receives as much as has come from one device that is waited for; returns true if an upload was
// enqueued or a wait has ended.
bool ClPeer::receive(DeviceIndex from, Pair& pair) {
  bool acted = false;
  while (auto message = group_.mail(from, self_).take()) {
    Arriving& arriving = pair.arriving.emplace_back();
    if (!message->piece.empty()) {
      device_.queue(CommandKind::upload)
          .enqueueWriteBuffer(message->into, CL_FALSE, message->offset, message->piece.size(),
                              message->piece.data(), nullptr, &arriving.uploaded);
      device_.notify_after(arriving.uploaded);
      device_.record_exchange(pair.waiting.front().batch, CommandKind::upload, arriving.uploaded,
                              kArrivalLabel, message->piece.size(), {from, PeerPath::staged, true});
    }
    arriving.message = std::move(*message);
    acted = true;
  }
  while (!pair.arriving.empty() && is_over(pair.arriving.front().uploaded)) {
    const ClMessage& message = pair.arriving.front().message;
    if (message.piece.empty()) ++pair.arrived;
    if (message.slot != nullptr) {
      message.slot->store(false, std::memory_order_release);
      group_.notify(from);  // the sender may go on with the next piece
    }
    pair.arriving.pop_front();
  }
  while (!pair.waiting.empty() && (pair.arrived > 0 || group_.lost_)) {
    if (pair.arrived > 0) --pair.arrived;
    pair.waiting.front().gate.setStatus(CL_COMPLETE);
    device_.expect_less(pair.waiting.front().batch);
    pair.waiting.pop_front();
    acted = true;
  }
  return acted;
}

void ClPeer::leak() {
  slots_.leak();
  for (Pair& pair : pairs_) mgpu::leak(std::move(pair.arriving));
}

void ClPeer::release_all() noexcept {
  const DriverCall inside(&device_);
  for (Pair& pair : pairs_) {
    for (const Sending& sending : pair.sending)
      if (sending.gate() != nullptr) clSetUserEventStatus(sending.gate(), CL_COMPLETE);
    for (const Waiting& waiting : pair.waiting) clSetUserEventStatus(waiting.gate(), CL_COMPLETE);
    pair.sending.clear();
    pair.waiting.clear();
  }
}

std::optional<DeviceIndex> ClPeer::awaited() const {
  // This device's thread may have been inside a driver since the last go_on(): data that has come
  // unnoticed is not what it waits for.
  const std::uint32_t of = signal_of_, slots_for = slots_for_;
  if (of != kNobody && group_.mail({of}, self_).empty()) return DeviceIndex{of};
  if (of == kNobody && slots_for != kNobody && slots_.full()) return DeviceIndex{slots_for};
  return std::nullopt;
}

}  // namespace mgpu
