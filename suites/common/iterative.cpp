#include "suites/common/iterative.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mgpu {

const Owner* owner_of(std::span<const Owner> owners, const Slice& share) {
  const auto found = std::find_if(owners.begin(), owners.end(),
                                  [&](const Owner& owner) { return owner.items == share; });
  return owners.size() < 2 || found == owners.end() ? nullptr : &*found;
}

std::vector<DeviceIndex> other_owners(std::span<const Owner> owners, DeviceIndex self) {
  std::vector<DeviceIndex> others;
  for (const Owner& owner : owners)
    if (owner.device != self) others.push_back(owner.device);
  return others;
}

std::vector<DeviceIndex> Neighbours::devices() const {
  std::vector<DeviceIndex> all;
  if (before != nullptr) all.push_back(before->device);
  if (after != nullptr && (all.empty() || after->device != all.front()))
    all.push_back(after->device);
  return all;
}

Neighbours neighbours_of(std::span<const Owner> owners, const Slice& share, bool periodic) {
  const Owner* const mine = owner_of(owners, share);
  if (mine == nullptr) return {};
  const Owner *const first = &owners.front(), *const last = &owners.back();
  return {mine != first ? mine - 1
          : periodic    ? last
                        : nullptr,
          mine != last ? mine + 1
          : periodic   ? first
                       : nullptr};
}

std::vector<Strip> strips_of(const Slice& mine, const Slice& theirs, std::uint32_t halo,
                             Items period) {
  const auto number = [](Items n) { return static_cast<std::int64_t>(n); };
  std::vector<Strip> strips;
  for (std::int64_t turn = period > 0 ? -1 : 0; turn <= (period > 0 ? 1 : 0); ++turn) {
    const std::int64_t shift = turn * number(period),
                       begin = std::max(number(mine.begin), number(theirs.begin) - halo - shift),
                       end = std::min(number(mine.end), number(theirs.end) + halo - shift);
    if (begin < end) strips.push_back({begin, end, shift});
  }
  return strips;
}

void check_shares(std::span<const Owner> owners, Items needed, const char* layers,
                  const char* option) {
  for (const Owner& owner : owners)
    if (owner.items.size() < needed)
      throw Error(
          ErrorKind::unsupported,
          fmt::format("a share of {} {} is less than the {} that its neighbours need of it (--{})",
                      owner.items.size(), layers, needed, option));
}

void SharedRing::allocate(PeerGroup& group, Bytes size, unsigned turns) {
  free();
  std::vector<std::unique_ptr<SharedMemory>> all;
  while (all.size() < turns) all.push_back(group.allocate(size));
  all_ = std::move(all);
}

bool kernels_reach(SharedMemory& memory, std::size_t devices) {
  for (std::uint32_t by = 0; by < devices; ++by)
    for (std::uint32_t of = 0; of < devices; ++of)
      if (memory.remote({by}, {of}) == nullptr) return false;
  return true;
}

Ring::Ring(const SharedRing& shared, DeviceResources& device, Bytes size, unsigned own) {
  const Peer* const peer = shared ? device.peer() : nullptr;
  for (std::size_t turn = 0; turn < (peer != nullptr ? shared.turns() : own); ++turn)
    all_.push_back(peer != nullptr ? &shared[turn].piece(peer->self())
                                   : own_.emplace_back(device.allocate(size)).get());
}

void Checkpoints::forget_checkpoints() {
  const std::lock_guard lock(mutex_);
  complete_ = 0;
}

void Checkpoints::restart() {
  const std::lock_guard lock(mutex_);
  next_ = 0;
  begun_from_ = complete_;
}

std::uint32_t Checkpoints::checkpointed_rounds() const {
  const std::lock_guard lock(mutex_);
  return complete_;
}

// Two places take turns, so this checkpoint overwrites the one before the last. A sample may have
// to restart from that one until the last one is complete.
bool Checkpoints::may_checkpoint(std::uint32_t rounds) const {
  const std::lock_guard lock(mutex_);
  return rounds <= complete_ + every_;
}

void Checkpoints::checkpointed(const Slice& items, std::uint32_t rounds) {
  const std::lock_guard lock(mutex_);
  next_ += items.size();
  if (next_ < items_) return;
  complete_ = rounds;
  next_ = 0;
}

void copy_part(Kernel& copy, Buffer& from, Buffer& to, Bytes first, Bytes size, Stream& stream) {
  constexpr std::size_t each = kCopyPiece,
                        local = 8;  // bytes per work-item and work-items per work-group
  stream.launch(copy, grid_of(copy, size / each, local),
                {&from, &to, std::uint64_t{first / each}, std::uint64_t{size / each}});
}

}  // namespace mgpu
