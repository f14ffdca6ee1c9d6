#include "lib/cluster/cluster_peers.hpp"

#include <algorithm>
#include <utility>

#include "lib/base/add_once.hpp"

namespace mgpu {
namespace {

// Limit of a question to one rank: finding the device that all wait for asks each rank on the way
// to it.
constexpr Nanos kAwaited = std::chrono::seconds(2);

void write(Writer& call, std::span<const DeviceIndex> devices) {
  call.put(std::uint64_t{devices.size()});
  for (const DeviceIndex device : devices) call.put(device);
}

}  // namespace

class ClusterPeers::End final : public Peer {
 public:
  End(ClusterPeers& group, RemoteDevice& device, DeviceIndex self)
      : group_(group), device_(device), self_(self) {
    device_.join(this);
  }
  ~End() override { device_.join(nullptr); }
  DeviceIndex self() const override { return self_; }
  std::size_t count() const override { return group_.size(); }
  PeerPath path(DeviceIndex to) const override {
    return group_.paths_[self_.value * count() + to.value];
  }

  void put(Buffer& from, Bytes offset, SharedMemory& into, DeviceIndex to, Bytes to_offset,
           Bytes size) override {
    Writer call = device_.begin(Call::put);
    const std::uint64_t memory = static_cast<const NumberedMemory&>(into).number();
    call.put(device_.number_of(from))
        .put(offset)
        .put(group_.number_)
        .put(memory)
        .put(to)
        .put(to_offset)
        .put(size);
    device_.send(std::move(call));
  }
  void sync(std::span<const DeviceIndex> signal, std::span<const DeviceIndex> await) override {
    Writer call = device_.begin(Call::sync);
    write(call, signal);
    write(call, await);
    device_.send(std::move(call));
  }

 private:
  ClusterPeers& group_;
  RemoteDevice& device_;
  DeviceIndex self_;
};

class ClusterPeers::Memory final : public NumberedMemory {
 public:
  Memory(ClusterPeers& group, std::uint64_t number, Bytes size)
      : parts_(group.parts_),
        group_(group.number_),
        number_(number),
        size_(size),
        links_(group.links_),
        pieces_(group.size() * group.size()) {
    try {
      if (group.local_ != nullptr) here_ = parts_.allocate(group_, number_, size);
      for (const auto& link : links_)
        group.ask(
            *link,
            std::move(
                link->begin_asking(Call::allocate_shared, 0).put(group_).put(number_).put(size)),
            "allocating memory that devices share");
      for (std::uint32_t by = 0; by < group.size(); ++by)
        for (std::uint32_t of = 0; of < group.size(); ++of) find(group, {by}, {of});
    } catch (...) {
      free();
      throw;
    }
  }
  ~Memory() override { free(); }

  Bytes size() const override { return size_; }
  Buffer& piece(DeviceIndex device) override { return *remote(device, device); }
  Buffer* remote(DeviceIndex by, DeviceIndex of) override {
    Buffer* const there = pieces_[by.value * places() + of.value].get();
    return there != nullptr || here_ == nullptr || !is_here(by) || !is_here(of)
               ? there
               : here_->remote(by, of);
  }
  std::uint64_t number() const override { return number_; }

 private:
  std::size_t places() const { return is_here_.size(); }
  bool is_here(DeviceIndex device) const { return is_here_[device.value]; }

  // Finds memory that the kernels of another rank's device reach.
  void find(ClusterPeers& group, DeviceIndex by, DeviceIndex of) {
    if (is_here_.empty())
      for (std::uint32_t i = 0; i < group.size(); ++i)
        is_here_.push_back(group.remote({i}) == nullptr);
    RemoteDevice* const device = group.remote(by);
    if (device == nullptr || group.members_[by.value].rank != group.members_[of.value].rank) return;
    if (by != of && group.paths_[by.value * group.size() + of.value] == PeerPath::staged) return;
    pieces_[by.value * group.size() + of.value] =
        device->shared_piece(group_, number_, by, of, size_);
  }

  void free() {
    pieces_.clear();
    if (here_) parts_.free(group_, number_);
    for (const auto& link : links_)
      link->send(std::move(NodeLink::begin(Call::free_shared, 0).put(group_).put(number_)));
  }

  GroupParts& parts_;
  const std::uint64_t group_, number_;
  const Bytes size_;
  const std::vector<std::shared_ptr<NodeLink>> links_;
  std::vector<bool> is_here_;
  std::shared_ptr<SharedPart> here_;  // null: no device is of this rank
  // Buffers, indexed by the device that uses one and the device it belongs to; null: not on another
  // rank.
  std::vector<std::unique_ptr<Buffer>> pieces_;
};

ClusterPeers::ClusterPeers(Backend& local, Backend& backend, GroupParts& parts,
                           std::span<const std::shared_ptr<NodeLink>> links, std::uint64_t number,
                           std::span<OpenDevice* const> devices, std::optional<PeerPath> path)
    : backend_(backend),
      parts_(parts),
      number_(number),
      paths_(devices.size() * devices.size(), PeerPath::staged) {
  std::vector<OpenDevice*> here;
  for (OpenDevice* device : devices) {
    auto* const remote = dynamic_cast<RemoteDevice*>(device);
    remotes_.push_back(remote);
    here.push_back(remote == nullptr ? device : nullptr);
    const RankNumber rank = remote == nullptr ? 0 : remote->rank();
    members_.push_back(
        {device->resources().traits().id, rank, remote == nullptr ? 0 : remote->number()});
    if (remote != nullptr) add_once(links_, links[rank]);
  }
  if (path && path != PeerPath::staged) refuse(*path);
  try {
    if (std::any_of(here.begin(), here.end(),
                    [](const OpenDevice* device) { return device != nullptr; })) {
      local_ = &parts_.connect(number_, local, here, members_, path);
      for (std::uint32_t from = 0; from < size(); ++from)
        for (std::uint32_t to = 0; to < size(); ++to)
          if (here[from] != nullptr && here[to] != nullptr)
            paths_[from * size() + to] = local_->peer({from}).path({to});
      notes_.assign(local_->notes().begin(), local_->notes().end());
      most_shared_ = local_->most_shared();
      through_host_[0] = local_->why_through_host().value_or("");
    }
    for (const auto& link : links_) connect_part(*link, path);
  } catch (...) {
    disconnect();
    throw;
  }
  for (std::uint32_t i = 0; i < size(); ++i)
    ends_.push_back(remotes_[i] != nullptr
                        ? std::make_unique<End>(*this, *remotes_[i], DeviceIndex{i})
                        : nullptr);
}

void ClusterPeers::refuse(PeerPath path) const {
  for (const GroupMember& one : members_)
    for (const GroupMember& other : members_)
      if (one.rank != other.rank)
        throw Error(ErrorKind::unsupported,
                    "no " + std::string(to_string(path)) + " path from " + one.id + " to " +
                        other.id + ": they belong to ranks " + std::to_string(one.rank) + " and " +
                        std::to_string(other.rank));
}

void ClusterPeers::connect_part(NodeLink& link, std::optional<PeerPath> path) {
  Writer call = link.begin_asking(Call::connect, 0);
  call.put(number_);
  write_optional(call, path);
  call.put(std::uint64_t{size()});
  for (const GroupMember& member : members_)
    call.text(member.id).put(member.rank).put(member.number);
  const Message answer = ask(link, std::move(call), "connecting devices");
  Reader in(answer);
  for (std::uint32_t from = 0; from < size(); ++from)
    for (std::uint32_t to = 0; to < size(); ++to)
      if (members_[from].rank == link.rank() && members_[to].rank == link.rank())
        paths_[from * size() + to] = in.get<PeerPath>();
  most_shared_ = std::min(most_shared_, in.get<Bytes>());
  for (auto left = in.get<std::uint64_t>(); left > 0; --left) notes_.push_back(in.text());
  through_host_[link.rank()] = in.text();
}

// Disconnects all ranks. Memory that devices may still be using is kept.
void ClusterPeers::disconnect() {
  for (const auto& link : links_) {
    bool may_be_in_flight = false;
    for (RemoteDevice* device : remotes_)
      if (device != nullptr && device->rank() == link->rank())
        may_be_in_flight = may_be_in_flight || device->may_be_in_flight();
    try {
      ask(*link,
          std::move(link->begin_asking(Call::disconnect, 0).put(number_).put(may_be_in_flight)),
          "disconnecting devices");
    } catch (const Error&) {  // the rank has failed, or it hangs: the group is not used there
    }
  }
  parts_.disconnect(number_, false);
}

ClusterPeers::~ClusterPeers() {
  ends_.clear();
  disconnect();
}

Message ClusterPeers::ask(NodeLink& link, Writer call, const std::string& what) {
  return link.ask(std::move(call), what, backend_.limits().build + backend_.limits().answer,
                  backend_.limits().stop);
}

Peer& ClusterPeers::peer(DeviceIndex device) {
  return ends_[device.value] ? static_cast<Peer&>(*ends_[device.value]) : local_->peer(device);
}

std::unique_ptr<SharedMemory> ClusterPeers::allocate(Bytes size) {
  return std::make_unique<Memory>(*this, next_memory_++, size);
}

void ClusterPeers::mark_failed(DeviceIndex device) {
  parts_.mark_failed(number_, device);
  for (const auto& link : links_)
    link->send(std::move(NodeLink::begin(Call::mark_failed, 0).put(number_).put(device)));
}

void ClusterPeers::check(DeviceIndex device) {
  if (remote(device) == nullptr) return parts_.check(number_, device);
  remote(device)->check_exchange(number_, device);
}

DeviceIndex ClusterPeers::awaited_by(DeviceIndex device) {
  if (remote(device) == nullptr) return parts_.awaited_by(number_, device);
  const RankNumber rank = members_[device.value].rank;
  const auto link = std::find_if(links_.begin(), links_.end(),
                                 [&](const auto& one) { return one->rank() == rank; });
  try {
    Writer call = (*link)->begin_asking(Call::awaited_by, 0);
    call.put(number_).put(device);
    const Message answer = (*link)->ask(std::move(call), "what a device waits for", kAwaited, {});
    return Reader(answer).get<DeviceIndex>();
  } catch (const Error&) {  // all wait for the rank itself
    return device;
  }
}

}  // namespace mgpu
