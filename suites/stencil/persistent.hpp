// Many steps in one launch on a device (kernels/stencil_persistent.cl): what it has room for in the
// registers of work-groups that are all resident, which is tried out.
#pragma once

#include <memory>
#include <vector>

#include "suites/stencil/problem.hpp"

namespace mgpu::stencil {

class Persistent {
 public:
  // Bytes of the rows that devices of a group write into each other's memory, two for each
  // neighbour.
  static Bytes mail_bytes(const Problem& problem);

  // For shares of at least `least` rows: tries out which of the kernel's sizes a device can do.
  // Throws Error(device), Error(timeout).
  Persistent(const Problem& problem, DeviceResources& device, std::uint64_t least);

  std::uint64_t most_rows() const;  // of a share; 0: none

  struct Launch {
    Buffer *from = nullptr, *to = nullptr;
    std::uint32_t first = 0, rows = 0, shift = 0, above = 0, below = 0, steps = 0,
                  number = 0;  // as in the kernel
    struct Neighbour {
      DeviceIndex device;
      Buffer* mail = nullptr;  // of that device
    };
    DeviceIndex self;
    Buffer* mail = nullptr;  // null: there are no neighbours
    Neighbour before, after;
    Peer::FlagWait wait;  // without a status: its own
  };
  // At most most_rows().
  void launch(const Launch& launch, Stream& stream);

  // After launches, brings to the host whether a group waited in vain, for those two. check()
  // throws Error(device) if one did.
  void download_status(Stream& stream);
  bool waited_in_vain() const { return failed_ != 0; }
  void check() const;

 private:
  struct Size {
    unsigned high = 0, rows = 0;  // work-items of a group along y, and rows of each
    std::unique_ptr<Kernel> kernel;
    std::uint64_t resident = 0;  // groups
    std::uint64_t tile_high() const { return std::uint64_t{high} * rows; }
  };
  std::uint64_t tiles_across() const { return (problem_.n + across_ * 4 - 1) / (across_ * 4); }
  std::uint64_t tiles(const Size& size, std::uint64_t rows) const {
    return tiles_across() * ceil_div(rows, size.tile_high());
  }
  std::vector<Size> all_sizes() const;  // none tried out
  std::size_t items(const Size& size) const {
    return std::size_t{across_} * size.high;
  }                                         // of a group
  Bytes box_bytes(const Size& size) const;  // of a tile
  Bytes local_bytes(const Size& size) const;
  std::vector<KernelArg> arguments(const Launch& launch) const;
  bool is_resident(const Size& size, std::uint64_t groups, DeviceResources& device);

  const Problem& problem_;
  const bool nvidia_, cpu_;
  const unsigned across_;    // work-items of a group along x
  std::vector<Size> sizes_;  // from the smallest
  std::unique_ptr<Buffer> boxes_, status_;
  Buffer* noted_in_ = nullptr;  // by the last launch, that it waited in vain; null: there was none
  std::uint32_t failed_ = 0;    // as it was brought
};

}  // namespace mgpu::stencil
