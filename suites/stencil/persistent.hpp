// Many steps in one launch on a device (kernels/stencil_persistent.cl). The share has to fit the
// registers of work-groups that are all resident, which is tried out.
#pragma once

#include <memory>
#include <vector>

#include "suites/stencil/problem.hpp"

namespace mgpu::stencil {

class Persistent {
 public:
  // Returns the size of the rows that a device's neighbours write into its memory, two rows per
  // neighbour.
  static Bytes mail_bytes(const Problem& problem);

  // Tries out which of the kernel's sizes the device can run, for shares of at least `least` rows.
  // Throws Error(device), Error(timeout).
  Persistent(const Problem& problem, DeviceResources& device, std::uint64_t least);

  std::uint64_t most_rows() const;  // largest share; 0: none fits

  struct Launch {
    Buffer *from = nullptr, *to = nullptr;
    std::uint32_t first = 0, rows = 0, shift = 0, above = 0, below = 0, steps = 0,
                  number = 0;  // arguments of the kernel
    struct Neighbour {
      DeviceIndex device;
      Buffer* mail = nullptr;  // mail of that device
    };
    DeviceIndex self;
    Buffer* mail = nullptr;  // null: no neighbours
    Neighbour before, after;
    Peer::FlagWait wait;  // without a status, its own is used
  };
  // Enqueues a launch of at most most_rows() rows.
  void launch(const Launch& launch, Stream& stream);

  // Downloads, after launches, whether a group's wait timed out. The two functions below return
  // that; check() throws Error(device).
  void download_status(Stream& stream);
  bool waited_in_vain() const { return failed_ != 0; }
  void check() const;

 private:
  struct Size {
    unsigned high = 0, rows = 0;  // work-items per group along y, and rows per work-item
    std::unique_ptr<Kernel> kernel;
    std::uint64_t resident = 0;  // resident groups
    std::uint64_t tile_high() const { return std::uint64_t{high} * rows; }
  };
  std::uint64_t tiles_across() const { return (problem_.n + across_ * 4 - 1) / (across_ * 4); }
  std::uint64_t tiles(const Size& size, std::uint64_t rows) const {
    return tiles_across() * ceil_div(rows, size.tile_high());
  }
  std::vector<Size> all_sizes() const;  // not tried out yet
  // Returns the work-items of a group.
  std::size_t items(const Size& size) const { return std::size_t{across_} * size.high; }
  Bytes box_bytes(const Size& size) const;  // size per tile
  Bytes local_bytes(const Size& size) const;
  std::vector<KernelArg> arguments(const Launch& launch) const;
  bool is_resident(const Size& size, std::uint64_t groups, DeviceResources& device);

  const Problem& problem_;
  const bool nvidia_, cpu_;
  const unsigned across_;    // work-items of a group along x
  std::vector<Size> sizes_;  // smallest first
  std::unique_ptr<Buffer> boxes_, status_;
  // Status of the last launch, which has whether a wait timed out; null if nothing was launched.
  Buffer* noted_in_ = nullptr;
  std::uint32_t failed_ = 0;  // status as downloaded
};

}  // namespace mgpu::stencil
