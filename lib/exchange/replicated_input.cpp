#include "lib/exchange/replicated_input.hpp"

#include <algorithm>

#include "lib/plan/exchange.hpp"

namespace mgpu {

ReplicatedInput::ReplicatedInput(PeerGroup& group, Bytes size)
    : group_(group), memory_(group.allocate(size)) {}

void ReplicatedInput::among(std::span<const DeviceIndex> members) {
  members_.assign(members.begin(), members.end());
}

void ReplicatedInput::bring(DeviceIndex device, std::span<const std::byte> data,
                            Stream& stream) const {
  Buffer& mine = memory_->piece(device);
  const auto self = std::find(members_.begin(), members_.end(), device);
  if (self == members_.end() || members_.size() < 2) return stream.upload(mine, 0, data);
  Peer& peer = group_.peer(device);
  const std::vector<DeviceIndex> others = others_of(members_, device);
  const bool direct = std::all_of(others.begin(), others.end(), [&](DeviceIndex other) {
    return peer.path(other) == PeerPath::direct;
  });
  if (!is_gathered(data.size(), direct)) return stream.upload(mine, 0, data);
  const ByteRange part = part_of_bytes({0, data.size()}, members_.size(),
                                       static_cast<std::size_t>(self - members_.begin()));
  for (std::size_t i = 0; i < kGatherPieces; ++i) {
    const ByteRange piece = part_of_bytes(part, kGatherPieces, i);
    if (piece.size() == 0) continue;
    stream.upload(mine, piece.begin, data.subspan(piece.begin, piece.size()));
    for (const DeviceIndex other : others)
      peer.put(mine, piece.begin, *memory_, other, piece.begin, piece.size());
  }
  peer.sync(others, others);
}

}  // namespace mgpu
