// Small reductions send all inputs to all devices, and each device combines everything (one
// exchange). Others scatter what they combine and gather it again (two exchanges, of 2 (n - 1) / n
// of the bytes): Rabenseifner's algorithm on fully connected devices, as in vLLM's custom
// all-reduce (github.com/vllm-project/vllm, csrc/custom_all_reduce.cuh).
#include "lib/exchange/collectives.hpp"

#include <algorithm>
#include <array>
#include <tuple>

#include "lib/base/error.hpp"

namespace mgpu {
namespace {

// Largest size for which one exchange of everything is faster than two exchanges of a part. On two
// devices both move the same bytes, so that only the rate of local memory counts; on eight the
// second exchange costs less than seven times the bytes from this size on.
constexpr Bytes kAtOnce = Bytes{256} << 10;
// Size from which the root of a broadcast to several devices sends each a part, which they pass on.
constexpr Bytes kScattered = Bytes{256} << 10;
constexpr Bytes kLine = 128;
// Number of devices whose memory a kernel of collectives.cl takes as arguments.
constexpr std::size_t kMost = 8;
// Largest size of all boxes that one device fills in the landing memory of numbered words.
constexpr Bytes kBoxes = Bytes{4} << 20;
constexpr std::uint32_t kMostTiles = 4096;

Bytes in_lines(Bytes size) { return (size + kLine - 1) / kLine * kLine; }

bool same_place(const InBuffer& a, Buffer& buffer, Bytes offset) {
  return a.buffer == &buffer && a.offset == offset;
}

const char* c_type(Element element) {
  switch (element) {
    case Element::u32:
      return "uint";
    case Element::u64:
      return "ulong";
    case Element::f32:
      return "float";
    case Element::f64:
      return "double";
  }
  return "";
}

}  // namespace

struct Collectives::Participant {
  explicit Participant(Peer& its_peer) : peer(its_peer) {}
  CountedPeer peer;
  DeviceResources* device = nullptr;
  // By what they do; see kernel().
  std::map<std::tuple<Element, Reduction, Way>, std::unique_ptr<Kernel>> kernels;
  std::uint32_t by_one_kernel = 0;  // calls so far
  // Whether others may put into its landing memory without asking. It is false from when the
  // device combined the data there until all devices have synchronised. It is the same on every
  // device, as all enqueue the same calls.
  bool landing_free = true;
};

Collectives::Collectives(PeerGroup& group, std::vector<DeviceResources*> devices, Bytes largest)
    : group_(group) {
  const std::size_t n = devices.size();
  for (std::uint32_t i = 0; i < n; ++i) {
    all_.push_back({i});
    members_.push_back(std::make_unique<Participant>(group.peer({i})));
    members_.back()->device = devices[i];
  }
  for (const DeviceIndex device : all_) others_.push_back(others_of(all_, device));
  slot_ = n == 1 ? kLine : in_lines(std::max(std::min(largest, kAtOnce), largest / n + 2 * kLine));
  landing_ = group.allocate(slot_ * n);
  bool direct = n > 1 && n <= kMost;
  for (const DeviceIndex from : all_) direct = direct && group.peer(from).flag_wait();
  for (const DeviceIndex from : all_)
    for (const DeviceIndex to : others_[from.value])
      direct = direct && group.peer(from).path(to) == PeerPath::direct;
  if (!direct) return;
  units_ = devices.front()->traits().compute_units;
  for (const DeviceResources* each : devices)
    units_ = std::min(units_, each->traits().compute_units);
  box_ = kBoxes / n;
  packets_ = group.allocate(2 * kBoxes);
  flags_ = group.allocate(2 * n * kMostTiles * sizeof(std::uint32_t));
  const std::vector<std::byte> zeros(flags_->size());
  for (const DeviceIndex device : all_)
    members_[device.value]->device->try_out(
        [&](Stream& stream) { stream.upload(flags_->piece(device), 0, zeros); });
}

Collectives::~Collectives() = default;

CountedPeer& Collectives::peer(DeviceIndex device) { return members_[device.value]->peer; }

void Collectives::begin_count() {
  for (const auto& member : members_) member->peer.begin();
}

Traffic Collectives::end_count() {
  std::vector<CountedPeer*> peers;
  for (const auto& member : members_) {
    member->peer.end();
    peers.push_back(&member->peer);
  }
  return traffic_of(peers);
}

void Collectives::build(const CollectiveCall& call) {
  if (!reduces(call.collective)) return;
  for (const DeviceIndex device : all_) kernel(device, call, way_of(call));
}

Kernel& Collectives::kernel(DeviceIndex device, const CollectiveCall& call, Way way) {
  Participant& member = *members_[device.value];
  auto& made = member.kernels[{call.element, call.reduction, way}];
  if (!made) {
    const std::string kind =
        std::string(to_string(call.element)) + "_" + std::string(to_string(call.reduction));
    std::string options = "-DCOMBINE=combine_" + kind + " -DELEMENT=" + c_type(call.element) +
                          " -DWIDTH=" + std::to_string(16 / bytes_of(call.element));
    options += call.reduction == Reduction::sum   ? " -DSUM"
               : call.reduction == Reduction::min ? " -DMIN"
                                                  : " -DMAX";
    if (call.element == Element::f64) options += " -DFP64";
    if (member.device->traits().cpu) options += " -DLINEAR";
    if (packets_)
      options += " -DNVIDIA -DAT_ONCE=at_once_" + kind + " -DIN_PARTS=in_parts_" + kind +
                 " -DDEVICES=" + std::to_string(group_.size());
    const char* const name = way == Way::at_once    ? "at_once_"
                             : way == Way::in_parts ? "in_parts_"
                                                    : "combine_";
    made = member.device->kernel(kCollectiveKernels, name + kind, options);
  }
  return *made;
}

void Collectives::enqueue(DeviceIndex device, const CollectiveCall& call, const InBuffer& in,
                          const InShared& out, Stream& stream) {
  const std::size_t n = group_.size();
  const Bytes needed = input_bytes(call, n, device), made = output_bytes(call, n, device);
  const bool fits =
      (needed == 0 || (in.buffer != nullptr && in.offset + needed <= in.buffer->size())) &&
      (made == 0 || (out.memory != nullptr && out.offset + made <= out.memory->size()));
  if (!fits)
    throw Error(ErrorKind::internal,
                "memory too small for " + std::string(to_string(call.collective)));
  switch (call.collective) {
    case Collective::barrier:
      return sync_all(device);
    case Collective::broadcast:
      return broadcast(device, call, in, out);
    case Collective::all_gather:
      sync_all(device);  // wait until every device's output may be written
      return gather(device, call, in, out);
    case Collective::all_to_all:
      return all_to_all(device, call, in, out);
    case Collective::neighbours:
      return neighbours(device, call, in, out);
    case Collective::reduce_scatter:
      return reduce_parts(device, call, in, std::array{&out.memory->piece(device)}, out.offset,
                          stream);
    case Collective::reduce:
      return reduce(device, call, in, out, stream);
    case Collective::all_reduce:
      return all_reduce(device, call, in, out, stream);
  }
}

void Collectives::sync_all(DeviceIndex device) {
  const auto& others = others_[device.value];
  if (others.empty()) return;
  peer(device).sync(others, others);
  members_[device.value]->landing_free = true;
}

void Collectives::enter_landing(DeviceIndex device) {
  if (!members_[device.value]->landing_free) sync_all(device);
}

// Sends the data of `part` to the output of every device; all outputs may be written already.
void Collectives::gather(DeviceIndex device, const CollectiveCall& call, const InBuffer& part,
                         const InShared& out) {
  const Bytes size = bytes_of(call.element);
  const Part mine = part_of(call.count, call.element, group_.size(), device.value);
  const Bytes at = out.offset + mine.begin * size;
  Peer& peer = this->peer(device);
  for (const DeviceIndex to : others_[device.value])
    peer.put(*part.buffer, part.offset, *out.memory, to, at, mine.size() * size);
  if (mine.size() > 0 && !same_place(part, out.memory->piece(device), at))
    peer.put(*part.buffer, part.offset, *out.memory, device, at, mine.size() * size);
  sync_all(device);
}

void Collectives::broadcast(DeviceIndex device, const CollectiveCall& call, const InBuffer& in,
                            const InShared& out) {
  const std::size_t n = group_.size();
  const Bytes size = bytes_of(call.element), bytes = call.count * size;
  const auto& others = others_[device.value];
  Peer& peer = this->peer(device);
  sync_all(device);
  const bool scattered = n > 2 && bytes > kScattered;
  // Returns the part that the root gives to a device, which passes it on; parts go to the devices
  // other than the root in order.
  const auto part = [&](DeviceIndex of) {
    return part_of(call.count, call.element, n - 1, of.value - (of > call.root ? 1u : 0u));
  };
  if (device == call.root) {
    for (const DeviceIndex to : others) {
      const Part given = scattered ? part(to) : Part{0, call.count};
      peer.put(*in.buffer, in.offset + given.begin * size, *out.memory, to,
               out.offset + given.begin * size, given.size() * size);
    }
    peer.sync(others, {});
    if (bytes > 0 && !same_place(in, out.memory->piece(device), out.offset))
      peer.put(*in.buffer, in.offset, *out.memory, device, out.offset, bytes);
  } else {
    peer.sync({}, std::span(&call.root, 1));
    if (!scattered) return;
    const Bytes at = out.offset + part(device).begin * size;
    std::vector<DeviceIndex> receivers = others;
    std::erase(receivers, call.root);
    for (const DeviceIndex to : receivers)
      peer.put(out.memory->piece(device), at, *out.memory, to, at, part(device).size() * size);
    peer.sync(receivers, receivers);
  }
}

void Collectives::all_to_all(DeviceIndex device, const CollectiveCall& call, const InBuffer& in,
                             const InShared& out) {
  const std::size_t n = group_.size();
  const Bytes size = bytes_of(call.element);
  Peer& peer = this->peer(device);
  const auto put = [&](DeviceIndex to) {
    const Part part = part_of(call.count, call.element, n, to.value);
    peer.put(*in.buffer, in.offset + part.begin * size, *out.memory, to,
             out.offset + device.value * part.size() * size, part.size() * size);
  };
  sync_all(device);
  for (const DeviceIndex to : others_[device.value]) put(to);
  put(device);
  sync_all(device);
}

void Collectives::neighbours(DeviceIndex device, const CollectiveCall& call, const InBuffer& in,
                             const InShared& out) {
  const Bytes bytes = call.count * bytes_of(call.element);
  Peer& peer = this->peer(device);
  std::vector<DeviceIndex> beside;
  if (device.value > 0) beside.push_back({device.value - 1});
  if (device.value + 1 < group_.size()) beside.push_back({device.value + 1});
  if (beside.empty()) return;
  peer.sync(beside, beside);
  for (const DeviceIndex to : beside) {
    // The first half of the input goes to the device before, where it arrives in the second
    // half of the output, as coming from the device after; and vice versa.
    const bool before = to < device;
    peer.put(*in.buffer, in.offset + (before ? 0 : bytes), *out.memory, to,
             out.offset + (before ? bytes : 0), bytes);
  }
  peer.sync(beside, beside);
}

void Collectives::all_reduce(DeviceIndex device, const CollectiveCall& call, const InBuffer& in,
                             const InShared& out, Stream& stream) {
  if (const Way way = way_of(call); way != Way::combine)
    return reduce_by_one_kernel(device, call, way, in, out, stream);
  const Bytes size = bytes_of(call.element);
  Buffer& here = out.memory->piece(device);
  if (call.count * size <= kAtOnce) {
    enter_landing(device);
    for (const DeviceIndex to : others_[device.value])
      peer(device).put(*in.buffer, in.offset, *landing_, to, slot_ * device.value,
                       call.count * size);
    sync_all(device);
    return combine(device, call, in, std::array{&here}, out.offset, call.count, stream);
  }
  const Part mine = part_of(call.count, call.element, group_.size(), device.value);
  const Bytes at = out.offset + mine.begin * size;
  if (const std::vector<Buffer*> all = everywhere(device, *out.memory); !all.empty()) {
    reduce_parts(device, call, in, all, at, stream);  // writes every device's output, too
    for (const DeviceIndex to : others_[device.value]) peer(device).stored(to, mine.size() * size);
    return sync_all(device);
  }
  reduce_parts(device, call, in, std::array{&here}, at, stream);
  gather(device, call, {&here, at}, out);
}

// Returns the memory of all devices as this one's kernels reach it; empty if they do not reach all.
std::vector<Buffer*> Collectives::everywhere(DeviceIndex device, SharedMemory& memory) const {
  std::vector<Buffer*> all;
  if (group_.size() > kMost) return all;
  for (const DeviceIndex of : all_) {
    all.push_back(memory.remote(device, of));
    if (all.back() == nullptr) return {};
  }
  return all;
}

Collectives::Way Collectives::way_of(const CollectiveCall& call) const {
  if (!packets_ || call.collective != Collective::all_reduce || call.count == 0)
    return Way::combine;
  return call.count * bytes_of(call.element) <= box_ / 2 ? Way::at_once : Way::in_parts;
}

bool Collectives::is_one_launch(const CollectiveCall& call) const {
  const Way way = way_of(call);
  return way == Way::at_once || (way == Way::in_parts && members_.front()->landing_free);
}

// All work-groups are resident at the same time: they wait for those of other devices.
void Collectives::reduce_by_one_kernel(DeviceIndex device, const CollectiveCall& call, Way way,
                                       const InBuffer& in, const InShared& out, Stream& stream) {
  constexpr std::size_t kGroup = 512;
  const Bytes size = bytes_of(call.element);
  CountedPeer& peer = this->peer(device);
  const auto& others = others_[device.value];
  const auto wait = *peer.flag_wait();
  std::vector<KernelArg> args;
  const auto add = [&](std::initializer_list<KernelArg> more) {
    args.insert(args.end(), more.begin(), more.end());
  };
  const auto add_each = [&](SharedMemory& memory) {
    for (const DeviceIndex of : all_) args.emplace_back(memory.remote(device, of));
  };
  std::size_t groups = 0;
  if (way == Way::at_once) {
    for (const DeviceIndex to : others) peer.stored(to, 2 * call.count * size);
    groups = std::min<std::size_t>(ceil_div(call.count, kGroup), 2 * units_);
    add({&out.memory->piece(device), out.offset / size, in.buffer, in.offset / size, call.count,
         device.value, box_ / sizeof(std::uint64_t)});
  } else {
    enter_landing(device);
    const auto part = [&](DeviceIndex of) {
      return part_of(call.count, call.element, group_.size(), of.value).size();
    };
    for (const DeviceIndex to : others) peer.stored(to, (part(to) + part(device)) * size);
    peer.synchronised(others, others);
    // The same tiles on every device: those of the longest part, the first or the last.
    const std::uint64_t largest = std::max(part(all_.front()), part(all_.back()));
    const Bytes tile =
        std::max(std::clamp<Bytes>(largest * size / units_, Bytes{8} << 10, Bytes{128} << 10),
                 ceil_div(largest * size, kMostTiles));
    const std::uint64_t in_tile = in_lines(tile) / size;
    const auto tiles = static_cast<std::uint32_t>(ceil_div(largest, in_tile));
    groups = std::min<std::size_t>(tiles, units_);
    const bool aligned = in.offset % 16 == 0 && out.offset % 16 == 0;
    add_each(*out.memory);
    add({out.offset / size, in.buffer, in.offset / size, call.count, device.value,
         static_cast<std::uint32_t>(aligned), slot_ / size, in_tile, tiles});
  }
  peer.synchronised(others, others);
  add({++members_[device.value]->by_one_kernel, wait.status, wait.limit_ns});
  if (way == Way::at_once) {
    add_each(*packets_);
  } else {
    add_each(*landing_);
    add_each(*flags_);
  }
  stream.launch(kernel(device, call, way), Grid{{groups * kGroup, 1, 1}, {kGroup, 1, 1}}, args);
}

// Combines the device's part and writes it to each memory of `to`.
void Collectives::reduce_parts(DeviceIndex device, const CollectiveCall& call, const InBuffer& in,
                               std::span<Buffer* const> to, Bytes to_offset, Stream& stream) {
  const std::size_t n = group_.size();
  const Bytes size = bytes_of(call.element);
  Peer& peer = this->peer(device);
  enter_landing(device);
  for (const DeviceIndex owner : others_[device.value]) {
    const Part part = part_of(call.count, call.element, n, owner.value);
    peer.put(*in.buffer, in.offset + part.begin * size, *landing_, owner, slot_ * device.value,
             part.size() * size);
  }
  sync_all(device);
  const Part mine = part_of(call.count, call.element, n, device.value);
  combine(device, call, {in.buffer, in.offset + mine.begin * size}, to, to_offset, mine.size(),
          stream);
}

void Collectives::reduce(DeviceIndex device, const CollectiveCall& call, const InBuffer& in,
                         const InShared& out, Stream& stream) {
  const Bytes size = bytes_of(call.element);
  const Part mine = part_of(call.count, call.element, group_.size(), device.value);
  const Bytes at = out.offset + mine.begin * size;
  CountedPeer& peer = this->peer(device);
  if (device == call.root) {
    reduce_parts(device, call, in, std::array{&out.memory->piece(device)}, at, stream);
    if (!others_[device.value].empty()) peer.sync({}, others_[device.value]);
    return;
  }
  Buffer* reached = out.memory->remote(device, call.root);
  const Bytes own_slot = slot_ * device.value;  // no device sends into it
  if (reached != nullptr) {
    reduce_parts(device, call, in, std::array{reached}, at, stream);
    peer.stored(call.root, mine.size() * size);
  } else {
    reduce_parts(device, call, in, std::array{&landing_->piece(device)}, own_slot, stream);
    peer.put(landing_->piece(device), own_slot, *out.memory, call.root, at, mine.size() * size);
  }
  peer.sync(std::span(&call.root, 1), {});
}

void Collectives::combine(DeviceIndex device, const CollectiveCall& call, const InBuffer& mine,
                          std::span<Buffer* const> to, Bytes to_offset, std::uint64_t count,
                          Stream& stream) {
  members_[device.value]->landing_free = group_.size() == 1;
  if (count == 0) return;
  const Bytes size = bytes_of(call.element);
  const DeviceTraits& traits = members_[device.value]->device->traits();
  constexpr std::size_t kGroup = 256;
  Kernel& combining = kernel(device, call, Way::combine);
  const std::size_t group = traits.cpu ? 1 : group_of(kGroup, combining);
  const std::size_t groups =
      traits.cpu ? std::size_t{traits.compute_units} : std::size_t{traits.compute_units} * 8;
  const std::uint64_t vectors = (count * size + 15) / 16;
  const auto needed =
      static_cast<std::size_t>(std::min<std::uint64_t>(groups, (vectors + group - 1) / group));
  const bool aligned = mine.offset % 16 == 0 && to_offset % 16 == 0;
  std::array<Buffer*, kMost> outs{};
  for (std::size_t i = 0; i < kMost; ++i) outs[i] = to[i < to.size() ? i : 0];
  stream.launch(combining, Grid{{needed * group, 1, 1}, {group, 1, 1}},
                {outs[0], outs[1], outs[2], outs[3], outs[4], outs[5], outs[6], outs[7],
                 static_cast<std::uint32_t>(to.size()), to_offset / size, mine.buffer,
                 mine.offset / size, &landing_->piece(device), slot_ / size, count, device.value,
                 static_cast<std::uint32_t>(group_.size()), static_cast<std::uint32_t>(aligned)});
}

}  // namespace mgpu
