// Small reductions send everything to everybody, who combine it all (one exchange); others scatter what they combine and gather it
// again (two, of 2 (n - 1) / n of the bytes): Rabenseifner's algorithm on fully connected devices, as in vLLM's custom all-reduce
// (github.com/vllm-project/vllm, csrc/custom_all_reduce.cuh).
#include "lib/exchange/collectives.hpp"

#include <algorithm>

#include "lib/base/error.hpp"

namespace mgpu {
namespace {

// Up to so many bytes one exchange of everything is faster than two of a part: on two devices both move the same, so that only
// local memory's rate counts; on eight the second exchange costs less than seven times the bytes from here on.
constexpr Bytes kAtOnce = Bytes{256} << 10;
// From here on the root of a broadcast to several gives each a part, which they pass on.
constexpr Bytes kScattered = Bytes{256} << 10;
constexpr Bytes kLine = 128;

Bytes in_lines(Bytes size) { return (size + kLine - 1) / kLine * kLine; }

bool same_place(const InBuffer& a, Buffer& buffer, Bytes offset) { return a.buffer == &buffer && a.offset == offset; }

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

struct Collectives::Member {
  DeviceResources* device = nullptr;
  std::map<std::pair<Element, Reduction>, std::unique_ptr<Kernel>> kernels;
  // May others put into its landing memory without asking? Not after it combined what was there, until all have met since. The same
  // on every device, as all enqueue the same calls.
  bool landing_free = true;
};

Collectives::Collectives(PeerGroup& group, std::vector<DeviceResources*> devices, Bytes largest) : group_(group) {
  const std::size_t n = devices.size();
  for (std::uint32_t i = 0; i < n; ++i) {
    all_.push_back({i});
    members_.push_back(std::make_unique<Member>());
    members_.back()->device = devices[i];
    std::vector<DeviceIndex>& others = others_.emplace_back();
    for (std::uint32_t k = 0; k < n; ++k)
      if (k != i) others.push_back({k});
  }
  slot_ = n == 1 ? kLine : in_lines(std::max(std::min(largest, kAtOnce), largest / n + 2 * kLine));
  landing_ = group.allocate(slot_ * n);
}

Collectives::~Collectives() = default;

void Collectives::build(const CollectiveCall& call) {
  if (!reduces(call.collective)) return;
  for (const DeviceIndex device : all_) combining(device, call);
}

Kernel& Collectives::combining(DeviceIndex device, const CollectiveCall& call) {
  Member& member = *members_[device.value];
  auto& kernel = member.kernels[{call.element, call.reduction}];
  if (!kernel) {
    const std::string entry = "combine_" + std::string(to_string(call.element)) + "_" + std::string(to_string(call.reduction));
    std::string options =
        "-DCOMBINE=" + entry + " -DELEMENT=" + c_type(call.element) + " -DWIDTH=" + std::to_string(16 / bytes_of(call.element));
    options += call.reduction == Reduction::sum ? " -DSUM" : call.reduction == Reduction::min ? " -DMIN" : " -DMAX";
    if (call.element == Element::f64) options += " -DFP64";
    if (member.device->traits().cpu) options += " -DLINEAR";
    kernel = member.device->kernel(kCollectiveKernels, entry, options);
  }
  return *kernel;
}

void Collectives::enqueue(DeviceIndex device, const CollectiveCall& call, const InBuffer& in, const InShared& out, Stream& stream) {
  const std::size_t n = group_.size();
  const Bytes needed = input_bytes(call, n, device), made = output_bytes(call, n, device);
  const bool fits = (needed == 0 || (in.buffer != nullptr && in.offset + needed <= in.buffer->size())) &&
                    (made == 0 || (out.memory != nullptr && out.offset + made <= out.memory->size()));
  if (!fits) throw Error(ErrorKind::internal, "memory too small for " + std::string(to_string(call.collective)));
  const auto here = [&] { return InBuffer{&out.memory->piece(device), out.offset}; };
  switch (call.collective) {
    case Collective::barrier:
      return sync_all(device);
    case Collective::broadcast:
      return broadcast(device, call, in, out);
    case Collective::all_gather:
      sync_all(device);  // everybody's output may be written
      return gather(device, call, in, out);
    case Collective::all_to_all:
      return all_to_all(device, call, in, out);
    case Collective::neighbours:
      return neighbours(device, call, in, out);
    case Collective::reduce_scatter:
      return reduce_parts(device, call, in, here(), stream);
    case Collective::reduce:
      return reduce(device, call, in, out, stream);
    case Collective::all_reduce: {
      if (call.count * bytes_of(call.element) <= kAtOnce) return reduce_at_once(device, call, in, out, stream);
      InBuffer part = here();
      part.offset += part_of(call.count, call.element, n, device.value).begin * bytes_of(call.element);
      reduce_parts(device, call, in, part, stream);
      return gather(device, call, part, out);
    }
  }
}

void Collectives::sync_all(DeviceIndex device) {
  const auto& others = others_[device.value];
  if (others.empty()) return;
  group_.peer(device).sync(others, others);
  members_[device.value]->landing_free = true;
}

void Collectives::enter_landing(DeviceIndex device) {
  if (!members_[device.value]->landing_free) sync_all(device);
}

// Of what is in `part`, to everybody's output, which may be written.
void Collectives::gather(DeviceIndex device, const CollectiveCall& call, const InBuffer& part, const InShared& out) {
  const Bytes size = bytes_of(call.element);
  const Part mine = part_of(call.count, call.element, group_.size(), device.value);
  const Bytes at = out.offset + mine.begin * size;
  Peer& peer = group_.peer(device);
  for (const DeviceIndex to : others_[device.value]) peer.put(*part.buffer, part.offset, *out.memory, to, at, mine.size() * size);
  if (mine.size() > 0 && !same_place(part, out.memory->piece(device), at))
    peer.put(*part.buffer, part.offset, *out.memory, device, at, mine.size() * size);
  sync_all(device);
}

void Collectives::broadcast(DeviceIndex device, const CollectiveCall& call, const InBuffer& in, const InShared& out) {
  const std::size_t n = group_.size();
  const Bytes size = bytes_of(call.element), bytes = call.count * size;
  const auto& others = others_[device.value];
  Peer& peer = group_.peer(device);
  sync_all(device);
  const bool scattered = n > 2 && bytes > kScattered;
  // Of the devices but the root, in order: the part that each is given and passes on.
  const auto part = [&](DeviceIndex of) { return part_of(call.count, call.element, n - 1, of.value - (of > call.root ? 1u : 0u)); };
  if (device == call.root) {
    for (const DeviceIndex to : others) {
      const Part given = scattered ? part(to) : Part{0, call.count};
      peer.put(*in.buffer, in.offset + given.begin * size, *out.memory, to, out.offset + given.begin * size, given.size() * size);
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
    for (const DeviceIndex to : receivers) peer.put(out.memory->piece(device), at, *out.memory, to, at, part(device).size() * size);
    peer.sync(receivers, receivers);
  }
}

void Collectives::all_to_all(DeviceIndex device, const CollectiveCall& call, const InBuffer& in, const InShared& out) {
  const std::size_t n = group_.size();
  const Bytes size = bytes_of(call.element);
  Peer& peer = group_.peer(device);
  sync_all(device);
  for (std::uint32_t step = 1; step <= n; ++step) {  // from the next on, so that not all put into one at once; itself last
    const DeviceIndex to{static_cast<std::uint32_t>((device.value + step) % n)};
    const Part part = part_of(call.count, call.element, n, to.value);
    peer.put(*in.buffer, in.offset + part.begin * size, *out.memory, to, out.offset + device.value * part.size() * size,
             part.size() * size);
  }
  sync_all(device);
}

void Collectives::neighbours(DeviceIndex device, const CollectiveCall& call, const InBuffer& in, const InShared& out) {
  const Bytes bytes = call.count * bytes_of(call.element);
  Peer& peer = group_.peer(device);
  std::vector<DeviceIndex> beside;
  if (device.value > 0) beside.push_back({device.value - 1});
  if (device.value + 1 < group_.size()) beside.push_back({device.value + 1});
  if (beside.empty()) return;
  peer.sync(beside, beside);
  for (const DeviceIndex to : beside) {
    // What goes to the one before is the first half here, and arrives there as what comes from the one after: the second half.
    const bool before = to < device;
    peer.put(*in.buffer, in.offset + (before ? 0 : bytes), *out.memory, to, out.offset + (before ? bytes : 0), bytes);
  }
  peer.sync(beside, beside);
}

void Collectives::reduce_at_once(DeviceIndex device, const CollectiveCall& call, const InBuffer& in, const InShared& out,
                                 Stream& stream) {
  enter_landing(device);
  Peer& peer = group_.peer(device);
  for (const DeviceIndex to : others_[device.value])
    peer.put(*in.buffer, in.offset, *landing_, to, slot_ * device.value, call.count * bytes_of(call.element));
  sync_all(device);
  combine(device, call, in, {&out.memory->piece(device), out.offset}, call.count, stream);
}

// Combines the device's part into `to`.
void Collectives::reduce_parts(DeviceIndex device, const CollectiveCall& call, const InBuffer& in, const InBuffer& to,
                               Stream& stream) {
  const std::size_t n = group_.size();
  const Bytes size = bytes_of(call.element);
  Peer& peer = group_.peer(device);
  enter_landing(device);
  for (std::uint32_t step = 1; step < n; ++step) {
    const DeviceIndex owner{static_cast<std::uint32_t>((device.value + step) % n)};
    const Part part = part_of(call.count, call.element, n, owner.value);
    peer.put(*in.buffer, in.offset + part.begin * size, *landing_, owner, slot_ * device.value, part.size() * size);
  }
  sync_all(device);
  const Part mine = part_of(call.count, call.element, n, device.value);
  combine(device, call, {in.buffer, in.offset + mine.begin * size}, to, mine.size(), stream);
}

void Collectives::reduce(DeviceIndex device, const CollectiveCall& call, const InBuffer& in, const InShared& out, Stream& stream) {
  const Bytes size = bytes_of(call.element);
  const Part mine = part_of(call.count, call.element, group_.size(), device.value);
  const Bytes at = out.offset + mine.begin * size;
  Peer& peer = group_.peer(device);
  if (device == call.root) {
    reduce_parts(device, call, in, {&out.memory->piece(device), at}, stream);
    if (!others_[device.value].empty()) peer.sync({}, others_[device.value]);
  } else {
    const InBuffer part{&landing_->piece(device), slot_ * device.value};  // its own slot is nobody's
    reduce_parts(device, call, in, part, stream);
    peer.put(*part.buffer, part.offset, *out.memory, call.root, at, mine.size() * size);
    peer.sync(std::span(&call.root, 1), {});
  }
}

void Collectives::combine(DeviceIndex device, const CollectiveCall& call, const InBuffer& mine, const InBuffer& to,
                          std::uint64_t count, Stream& stream) {
  members_[device.value]->landing_free = group_.size() == 1;
  if (count == 0) return;
  const Bytes size = bytes_of(call.element);
  const DeviceTraits& traits = members_[device.value]->device->traits();
  constexpr std::size_t kGroup = 256;
  const std::size_t group = traits.cpu ? 1 : std::clamp<std::size_t>(traits.max_work_group, 1, kGroup);
  const std::size_t groups = traits.cpu ? std::size_t{traits.compute_units} : std::size_t{traits.compute_units} * 8;
  const std::uint64_t vectors = (count * size + 15) / 16;
  const auto needed = static_cast<std::size_t>(std::min<std::uint64_t>(groups, (vectors + group - 1) / group));
  const bool aligned = mine.offset % 16 == 0 && to.offset % 16 == 0;
  stream.launch(combining(device, call), Grid{{needed * group, 1, 1}, {group, 1, 1}},
                {to.buffer, to.offset / size, mine.buffer, mine.offset / size, &landing_->piece(device), slot_ / size, count,
                 device.value, static_cast<std::uint32_t>(group_.size()), static_cast<std::uint32_t>(aligned)});
}

}  // namespace mgpu
