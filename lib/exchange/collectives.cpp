// Small reductions send all inputs to all devices, and each device combines everything (one
// exchange). Others scatter what they combine and gather it again (two exchanges, of 2 (n - 1) / n
// of the bytes): Rabenseifner's algorithm on fully connected devices, as in vLLM's custom
// all-reduce (github.com/vllm-project/vllm, csrc/custom_all_reduce.cuh).
#include "lib/exchange/collectives.hpp"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

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
constexpr std::uint32_t kMostTiles = 16384;  // of one exchange
constexpr std::size_t kGroup = 512;          // work-items of a group that move data
constexpr std::size_t kWaiters = 32;         // further ones that wait for other devices: a warp

Bytes in_lines(Bytes size) { return (size + kLine - 1) / kLine * kLine; }

bool same_place(const InBuffer& a, Buffer& buffer, Bytes offset) {
  return a.buffer == &buffer && a.offset == offset;
}

// Numbers by device, from one's own on, as the kernels take them: kinds of numbers one after
// another.
class PerDevice {
 public:
  PerDevice(std::size_t devices, std::size_t kinds) : devices_(devices), kinds_(kinds) {}
  std::uint64_t& at(std::size_t kind, std::size_t k) { return all_[kind * devices_ + k]; }
  KernelArg argument() const {
    return ValueBytes{std::as_bytes(std::span(all_).first(kinds_ * devices_))};
  }

 private:
  std::size_t devices_, kinds_;
  std::array<std::uint64_t, 3 * kMost> all_{};
};

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
  std::map<std::tuple<Element, Reduction, Way, bool>, std::unique_ptr<Kernel>> kernels;
  std::uint32_t launches = 0;  // calls of one launch so far
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
  slot_ = std::min(slot_, group.most_shared() / n / kLine * kLine);
  landing_ = group.allocate(slot_ * n);
  if (!in_launches(group)) return;
  units_ = devices.front()->traits().compute_units;
  for (const DeviceResources* each : devices)
    units_ = std::min(units_, each->traits().compute_units);
  box_ = kBoxes / n + kLine;
  packets_ = group.allocate(2 * n * box_);
  flags_ = group.allocate((1 + 2 * kMostTiles) * n * sizeof(std::uint32_t));
  for (const auto* memory : {&packets_, &flags_}) {
    const std::vector<std::byte> zeros((*memory)->size());
    for (const DeviceIndex device : all_)
      members_[device.value]->device->try_out(
          [&](Stream& stream) { stream.upload((*memory)->piece(device), 0, zeros); });
  }
}

Collectives::~Collectives() = default;

bool Collectives::in_launches(PeerGroup& group) {
  const auto n = static_cast<std::uint32_t>(group.size());
  if (n == 1 || n > kMost) return false;
  for (std::uint32_t from = 0; from < n; ++from) {
    if (!group.peer({from}).flag_wait()) return false;
    for (std::uint32_t to = 0; to < n; ++to)
      if (from != to && group.peer({from}).path({to}) != PeerPath::direct) return false;
  }
  return true;
}

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

void Collectives::build(const CollectiveCall& call, const InShared& out) {
  if (!packets_ && !reduces(call.collective)) return;
  for (const DeviceIndex device : all_) kernel(device, call, way_of(call, out));
}

Kernel& Collectives::kernel(DeviceIndex device, const CollectiveCall& call, Way way) {
  Participant& member = *members_[device.value];
  const bool moves = !reduces(call.collective);  // words of 32 bits, whatever they are part of
  const Element element = moves ? Element::u32 : call.element;
  auto& made = member.kernels[{element, call.reduction, way, moves}];
  if (!made) {
    const std::string kind =
        moves ? "move"
              : std::string(to_string(element)) + "_" + std::string(to_string(call.reduction));
    std::string options = "-DCOMBINE=combine_" + kind + " -DELEMENT=" + c_type(element) +
                          " -DWIDTH=" + std::to_string(16 / bytes_of(element));
    options += call.reduction == Reduction::sum   ? " -DSUM"
               : call.reduction == Reduction::min ? " -DMIN"
                                                  : " -DMAX";
    if (element == Element::f64) options += " -DFP64";
    if (moves) options += " -DMOVES";
    if (member.device->traits().cpu) options += " -DLINEAR";
    if (packets_)
      options += " -DNVIDIA -DAT_ONCE=at_once_" + kind + " -DIN_TILES=in_tiles_" + kind +
                 " -DDEVICES=" + std::to_string(group_.size()) +
                 " -DMOST_TILES=" + std::to_string(kMostTiles) +
                 " -DWAITERS=" + std::to_string(kWaiters);
    const char* const name = way == Way::at_once    ? "at_once_"
                             : way == Way::in_tiles ? "in_tiles_"
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
      (made == 0 || (out.memory != nullptr && out.offset + made <= out.size()));
  if (!fits)
    throw Error(ErrorKind::internal,
                "memory too small for " + std::string(to_string(call.collective)));
  switch (way_of(call, out)) {
    case Way::at_once:
      return launch_at_once(device, call, in, out, stream);
    case Way::in_tiles:
      for (std::uint64_t begin = 0; const std::uint64_t end : ends_of_launches(call, out))
        launch_in_tiles(device, call, {std::exchange(begin, end), end}, in, out, stream);
      return;
    case Way::combine:
      break;
  }
  switch (call.collective) {
    case Collective::barrier:
      return sync_all(device);
    case Collective::reduce_scatter:
      return reduce_parts(device, call, in, std::array{&out.memory->piece(device)}, out.offset,
                          stream);
    case Collective::reduce:
      return reduce(device, call, in, out, stream);
    case Collective::all_reduce:
      return all_reduce(device, call, in, out, stream);
    default:
      return move(device, call, in, out);
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

// Moves data by puts, once the receivers have come.
void Collectives::move(DeviceIndex device, const CollectiveCall& call, const InBuffer& in,
                       const InShared& out) {
  const std::size_t n = group_.size();
  const Bytes size = bytes_of(call.element);
  Peer& peer = this->peer(device);
  const bool in_parts =
      call.collective == Collective::broadcast && n > 2 && call.count * size > kScattered;
  const auto segment = [&](DeviceIndex from, DeviceIndex to) {
    return first_segment(call, n, from, to, in_parts);
  };
  const auto put = [&](DeviceIndex to) {
    const Segment each = segment(device, to);
    peer.put(*in.buffer, in.offset + each.begin * size, *out.memory, to,
             out.offset + each.to * size, each.size * size);
  };
  std::vector<DeviceIndex> receivers, senders;
  for (const DeviceIndex other : others_[device.value]) {
    if (segment(device, other).size > 0) receivers.push_back(other);
    if (segment(other, device).size > 0) senders.push_back(other);
  }
  peer.sync(senders, receivers);
  for (const DeviceIndex to : receivers) put(to);
  peer.sync(receivers, senders);
  const Segment own = segment(device, device);
  if (own.size > 0 && !same_place({in.buffer, in.offset + own.begin * size},
                                  out.memory->piece(device), out.offset + own.to * size))
    put(device);
  if (!in_parts || device == call.root) return;
  const Part part = own_part(call, n, device);
  const Bytes at = out.offset + part.begin * size;
  std::vector<DeviceIndex> others = others_[device.value];
  std::erase(others, call.root);
  for (const DeviceIndex to : others)
    peer.put(out.memory->piece(device), at, *out.memory, to, at, part.size() * size);
  peer.sync(others, others);
}

void Collectives::all_reduce(DeviceIndex device, const CollectiveCall& call, const InBuffer& in,
                             const InShared& out, Stream& stream) {
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
  for (const DeviceIndex to : others_[device.value])
    peer(device).put(here, at, *out.memory, to, at, mine.size() * size);
  sync_all(device);
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

Collectives::Way Collectives::way_of(const CollectiveCall& call, const InShared& out) const {
  if (!packets_) return Way::combine;
  const Bytes size = bytes_of(call.element),
              longest = longest_segment(call, group_.size(), false) * size;
  const bool in_one_block =
      longest == 0 || out.more.empty() ||
      out.offset / out.memory->size() ==
          (out.offset + largest_output(call, group_.size()) - 1) / out.memory->size();
  return 2 * longest <= box_ - kLine && in_one_block ? Way::at_once : Way::in_tiles;
}

std::size_t Collectives::launches(const CollectiveCall& call, const InShared& out) const {
  const Way way = way_of(call, out);
  return way == Way::combine ? 0 : way == Way::at_once ? 1 : ends_of_launches(call, out).size();
}

bool Collectives::is_in_parts(const CollectiveCall& call) const {
  return reduces(call.collective) ||
         (call.collective == Collective::broadcast && group_.size() > 2);
}

// Returns where launches end, in elements of each segment: a launch needs room in the landing
// memory, and stores each segment into one block.
std::vector<std::uint64_t> Collectives::ends_of_launches(const CollectiveCall& call,
                                                         const InShared& out) const {
  const std::size_t n = group_.size();
  const Bytes size = bytes_of(call.element);
  const bool in_parts = is_in_parts(call);
  const std::uint64_t longest = longest_segment(call, n, in_parts);
  std::vector<std::uint64_t> ends{longest};
  if (reduces(call.collective) && longest * size > slot_) {
    const std::uint64_t times = ceil_div(longest * size, slot_ - kLine);  // parts are unequal
    for (std::size_t i = 1; i < times; ++i)
      ends.push_back(part_of(longest, call.element, times, i).begin);
  }
  for (std::size_t i = 1; i <= out.more.size(); ++i) {
    const Bytes begin = i * out.memory->size();
    for (const DeviceIndex from : all_) {
      for (const DeviceIndex to : all_) {
        const Segment segment = first_segment(call, n, from, to, in_parts);
        const Bytes at = out.offset + segment.to * size;
        if (begin > at && begin < at + segment.size * size) ends.push_back((begin - at) / size);
      }
    }
  }
  std::sort(ends.begin(), ends.end());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  return ends;
}

// All work-groups are resident at the same time: they wait for those of other devices.
void Collectives::launch_at_once(DeviceIndex device, const CollectiveCall& call, const InBuffer& in,
                                 const InShared& out, Stream& stream) {
  const std::size_t n = group_.size();
  const Bytes size = bytes_of(call.element);
  const Bytes unit = reduces(call.collective) ? size : sizeof(std::uint32_t);
  const auto& others = others_[device.value];
  CountedPeer& peer = this->peer(device);
  const auto wait = *peer.flag_wait();
  const bool in_place = call.collective == Collective::broadcast && call.count > 0 &&
                        same_place(in, out.memory->piece(device), out.offset);
  PerDevice sent(n, 3), come(n, 3), boxes(n, 1);
  std::uint64_t most = 0;
  const std::size_t block = out.memory != nullptr ? out.offset / out.memory->size() : 0;
  const Bytes offset = out.memory != nullptr ? out.offset % out.memory->size() : 0;
  const auto set = [&](PerDevice& to, std::size_t k, const Segment& segment) {
    to.at(0, k) = (in.offset + segment.begin * size) / unit;
    to.at(1, k) = segment.size * size / unit;
    to.at(2, k) = (offset + segment.to * size) / unit;
    most = std::max(most, to.at(1, k));
  };
  for (std::size_t k = 0; k < n; ++k) {
    const DeviceIndex other = k == 0 ? device : others[k - 1];
    boxes.at(0, k) = packets_->address(device, other);
    if (k == 0 && in_place) continue;
    const Segment segment = first_segment(call, n, device, other, false);
    set(sent, k, segment);
    if (k == 0) continue;
    set(come, k, first_segment(call, n, other, device, false));
    peer.stored(other, 2 * segment.size * size);
  }
  peer.synchronised(others, others);
  Buffer* const some = &packets_->piece(device);  // for calls without data
  const std::size_t groups =
      std::clamp<std::size_t>(ceil_div(most, kGroup), 1, std::size_t{2} * units_);
  stream.launch(kernel(device, call, Way::at_once), Grid{{groups * kGroup, 1, 1}, {kGroup, 1, 1}},
                {out.memory != nullptr ? &out.block(block).piece(device) : some,
                 in.buffer != nullptr ? in.buffer : some, sent.argument(), come.argument(),
                 boxes.argument(), box_ / sizeof(std::uint64_t), device.value,
                 ++members_[device.value]->launches, wait.status, wait.limit_ns});
}

// Returns the size of tiles, the same on every device, of segments of up to `longest` bytes. Small
// ones are passed on or combined sooner, large ones need fewer flags: of 4 to 128 KiB these were
// fastest on two and four H200. With a root, the last tiles pass another device while most links
// are idle: each work-group has at least four.
Bytes Collectives::tile_of(const CollectiveCall& call, Bytes longest) const {
  const bool many = group_.size() > 2, in_parts = is_in_parts(call),
             rooted = many && (call.collective == Collective::broadcast ||
                               call.collective == Collective::reduce);
  const bool small = in_parts && (many || call.collective == Collective::reduce_scatter);
  const std::uint64_t kib = !small ? 128 : call.collective == Collective::reduce ? 12 : 24;
  const Bytes of_group = ceil_div(longest, units_);
  const std::uint64_t turns =
      std::max<std::uint64_t>(ceil_div(of_group, kib << 10), rooted ? 4 : 1);
  return in_lines(
      std::max({Bytes{8} << 10, ceil_div(longest, kMostTiles), ceil_div(of_group, turns)}));
}

// Exchanges those of `elements` that each segment has.
void Collectives::launch_in_tiles(DeviceIndex device, const CollectiveCall& call,
                                  const Part& elements, const InBuffer& in, const InShared& out,
                                  Stream& stream) {
  const std::size_t n = group_.size();
  const Bytes size = bytes_of(call.element);
  const bool combines = reduces(call.collective), in_parts = is_in_parts(call);
  const bool passes_on = in_parts && !combines;
  const Bytes unit = combines ? size : sizeof(std::uint32_t);
  const auto& others = others_[device.value];
  CountedPeer& peer = this->peer(device);
  const auto wait = *peer.flag_wait();
  const auto some_of = [&](std::uint64_t all) {
    return std::clamp(all, elements.begin, elements.end) - elements.begin;
  };
  const auto output = [&](DeviceIndex of, std::uint64_t element) {
    const Bytes at = out.offset + (element + elements.begin) * size;
    return out.block(at / out.memory->size()).address(device, of) + at % out.memory->size();
  };
  const Part own = in_parts ? own_part(call, n, device) : Part{};
  const std::uint64_t part = some_of(own.size());
  const bool in_place = call.collective == Collective::broadcast &&
                        same_place(in, out.memory->piece(device), out.offset);
  bool aligned = in.offset % 16 == 0 && out.offset % 16 == 0;
  PerDevice sent(n, 3), to(n, 1), also(n, 1), results(n, 1), flags(n, 1);
  for (std::size_t k = 0; k < n; ++k) {
    const DeviceIndex other = k == 0 ? device : others[k - 1];
    flags.at(0, k) = flags_->address(device, other);
    const Segment segment = first_segment(call, n, device, other, in_parts);
    if (const std::uint64_t some = some_of(segment.size); some > 0) {
      const Bytes from = in.offset + (segment.begin + elements.begin) * size;
      sent.at(0, k) = from / unit;
      sent.at(1, k) = some * size / unit;
      // The root of a broadcast in parts copies each as it sends it.
      if (combines && k > 0)
        to.at(0, k) = landing_->address(device, other) + slot_ * device.value;
      else if (!combines && (k > 0 || (!in_place && !passes_on)))
        to.at(0, k) = output(other, segment.to);
      if (passes_on && k > 0 && !in_place) also.at(0, k) = output(device, segment.to);
      aligned = aligned && from % 16 == 0 && to.at(0, k) % 16 == 0;
      if (k > 0) peer.stored(other, some * size);
    }
    const bool gets = call.collective == Collective::all_reduce ||
                      (call.collective == Collective::reduce_scatter && k == 0) ||
                      (call.collective == Collective::reduce && other == call.root) ||
                      (passes_on && k > 0 && other != call.root);
    if (!gets || part == 0) continue;
    results.at(0, k) = output(other, call.collective == Collective::reduce_scatter ? 0 : own.begin);
    if (k > 0) peer.stored(other, part * size);
  }
  for (unsigned exchange = 0; exchange < (in_parts ? 2 : 1); ++exchange)
    peer.synchronised(others, others);
  const Bytes longest = elements.size() * size, tile = tile_of(call, longest);
  const auto tiles = static_cast<std::uint32_t>(ceil_div(longest, tile));
  const std::size_t groups = std::min<std::size_t>(tiles, units_);
  const std::uint32_t then = combines ? 1 : passes_on ? 2 : 0;  // COMBINES, PASSES_ON, ENDS
  const std::uint64_t landing = combines    ? landing_->address(device, device)
                                : part == 0 ? 0
                                            : output(device, own.begin);
  constexpr std::size_t kItems = kGroup + kWaiters;
  stream.launch(kernel(device, call, Way::in_tiles), Grid{{groups * kItems, 1, 1}, {kItems, 1, 1}},
                {in.buffer != nullptr ? in.buffer : &packets_->piece(device), sent.argument(),
                 to.argument(), also.argument(), static_cast<std::uint32_t>(!combines), then,
                 part * size / unit, landing, slot_ / unit, results.argument(),
                 static_cast<std::uint32_t>(aligned), tile / unit, tiles, flags.argument(),
                 device.value, ++members_[device.value]->launches, wait.status, wait.limit_ns});
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
