// Shares that end along two axes: where they lie, and what devices send each other of them.
#pragma once

#include <algorithm>
#include <functional>
#include <span>
#include <vector>

#include "lib/workload/workload.hpp"

namespace mgpu {

// Items that are pieces of layers, `columns` of them across the width of each, numbered down the
// first column of pieces, then down the next.
struct PiecesOfLayers {
  std::uint64_t layers = 0, width = 0, columns = 1;
};

// Layers [first, end), and of each of them [left, right).
struct Patch {
  std::uint64_t first = 0, end = 0, left = 0, right = 0;
  bool empty() const { return first >= end || left >= right; }
};

// A range of items as patches, at most three.
std::vector<Patch> patches_of(const PiecesOfLayers& pieces, const Slice& items);

// Returns how many columns make equal shares of so many devices one block each, about as wide as
// high.
std::uint64_t columns_for(std::size_t devices);

// Describes what one device needs of another one's share: of `which` kind is for the suite to say.
// So many numbers of it are sent in one piece, which lands in memory of its own, so many numbers
// from its beginning; 0: layer by layer, to where they are.
struct Transfer {
  DeviceIndex from, to;
  Patch patch;
  std::uint32_t which = 0;
  std::uint64_t numbers = 0, landing = 0;
};

// `wanted`: what a patch needs, its own parts included, as patches and kinds; `numbers`: of a
// transfer.
std::vector<Transfer> transfers_among(
    const PiecesOfLayers& pieces, std::span<const Owner> owners,
    const std::function<std::vector<std::pair<Patch, std::uint32_t>>(const Patch&)>& wanted,
    const std::function<std::uint64_t(const Transfer&)>& numbers);

// The transfers of one device.
class BlockExchange {
 public:
  // `room`: bytes of all that lands there after a round.
  BlockExchange(DeviceResources& device, Bytes room, Bytes number)
      : packed_(device.allocate(room)), number_(number) {}

  // Returns whom it exchanges with: who gives something needs something.
  std::vector<DeviceIndex> settle(std::span<const Transfer> all, DeviceIndex self);
  std::span<const Transfer> sends() const { return sends_; }

  // pack(transfer, to, at) copies it to a place in a buffer; put(transfer) sends what is not
  // packed.
  template <class Pack, class Put>
  void send(Peer& peer, SharedMemory& landing, const Pack& pack, const Put& put) {
    std::uint64_t at = 0;
    for (const Transfer& each : sends_) {
      if (each.numbers == 0) {
        put(each);
        continue;
      }
      if ((at + each.numbers) * number_ > packed_->size()) at = 0;  // that was sent
      pack(each, *packed_, at);
      peer.put(*packed_, at * number_, landing, each.to, each.landing * number_,
               each.numbers * number_);
      at += each.numbers;
    }
  }
  // unpack(transfer, from, at) copies it to where it belongs.
  template <class Unpack>
  void take(Buffer& landing, const Unpack& unpack) {
    for (const Transfer& each : takes_)
      if (each.numbers > 0) unpack(each, landing, each.landing);
  }

 private:
  std::unique_ptr<Buffer> packed_;
  const Bytes number_;
  std::vector<Transfer> sends_, takes_;
};

}  // namespace mgpu
