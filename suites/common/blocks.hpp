// Partitions into blocks along two axes: where the blocks lie, and which parts devices exchange.
#pragma once

#include <algorithm>
#include <functional>
#include <span>
#include <vector>

#include "lib/workload/workload.hpp"

namespace mgpu {

// Describes items that are pieces of layers: `columns` pieces across the width of each layer,
// numbered down the first column of pieces, then down the next.
struct PiecesOfLayers {
  std::uint64_t layers = 0, width = 0, columns = 1;
};

// Layers [first, end), each from `left` to `right` (exclusive).
struct Patch {
  std::uint64_t first = 0, end = 0, left = 0, right = 0;
  bool empty() const { return first >= end || left >= right; }
};

// Returns a range of items as patches, at most three.
std::vector<Patch> patches_of(const PiecesOfLayers& pieces, const Slice& items);

// Returns the number of columns that gives each of `devices` equal shares one block, about as wide
// as high.
std::uint64_t columns_for(std::size_t devices);

// A part of one device's share that another device needs. The suite defines the kinds `which`. If
// `numbers` is above 0, that many numbers are packed and sent in one message, which arrives
// `landing` numbers after the beginning of the receive buffer; if 0, layers are sent one by one to
// where they belong.
struct Transfer {
  DeviceIndex from, to;
  Patch patch;
  std::uint32_t which = 0;
  std::uint64_t numbers = 0, landing = 0;
};

// Returns all transfers between the owners. `wanted` returns what a patch needs, its own parts
// included, as patches and kinds; `numbers` returns Transfer::numbers.
std::vector<Transfer> transfers_among(
    const PiecesOfLayers& pieces, std::span<const Owner> owners,
    const std::function<std::vector<std::pair<Patch, std::uint32_t>>(const Patch&)>& wanted,
    const std::function<std::uint64_t(const Transfer&)>& numbers);

// The transfers that one device sends and receives.
class BlockExchange {
 public:
  // `room`: bytes that arrive at one device per exchange; `number`: bytes of a number.
  BlockExchange(DeviceResources& device, Bytes room, Bytes number)
      : packed_(device.allocate(room)), number_(number) {}

  // Selects the device's transfers and returns the devices it exchanges with. Exchanges are mutual:
  // a device that sends to another one also receives from it.
  std::vector<DeviceIndex> settle(std::span<const Transfer> all, DeviceIndex self);
  std::span<const Transfer> sends() const { return sends_; }

  // Sends all transfers. pack(transfer, to, at) copies one to a place in a buffer; put(transfer)
  // sends one that is not packed.
  template <class Pack, class Put>
  void send(Peer& peer, SharedMemory& landing, const Pack& pack, const Put& put) {
    std::uint64_t at = 0;
    for (const Transfer& each : sends_) {
      if (each.numbers == 0) {
        put(each);
        continue;
      }
      // Starts again at the front of the buffer: its earlier contents have been sent.
      if ((at + each.numbers) * number_ > packed_->size()) at = 0;
      pack(each, *packed_, at);
      peer.put(*packed_, at * number_, landing, each.to, each.landing * number_,
               each.numbers * number_);
      at += each.numbers;
    }
  }
  // Unpacks what arrived. unpack(transfer, from, at) copies a transfer to where it belongs.
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
