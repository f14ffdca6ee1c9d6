// One device's work on all shortest paths. It has the rows of its blocks, at the places that Blocks
// assigns.
//
// Each round has a block of vertices. Its owner closes the block's rows, for at most 64 vertices at
// a time: first the block between these vertices, then their rows, then the other rows of the
// block. The closed rows are the panel that all devices need. Each of a device's rows becomes the
// better of itself and the product, in the semiring, of its part in the block's columns with the
// panel. If others wait, the owner of the next block updates that block first, closes it and sends
// it ahead of the rest of the round. The others are not delayed, since they wait only for its panel
// and not for the end of a round (panel_order.hpp).
#pragma once

#include <optional>

#include "suites/tropical/paths_workload.hpp"

namespace mgpu::tropical {

class PathsProgram final : public PartitionedProgram<PathsWorkload> {
 public:
  PathsProgram(PathsWorkload& workload, DeviceResources& device, Mode mode, Kernels kernels);

  std::string kernel_variant() const override { return kernels_.variant.name(); }
  void load(Stream& stream) override;
  void enqueue(const Slice& slice, unsigned slot, Stream& stream) override;
  void enqueue_round(const Slice& slice, std::uint32_t round, Stream& stream) override;

 private:
  struct Product {  // improves rows of the state from `first` on by paths through `size` vertices
    std::uint64_t first, rows, size;
    // Rows that are skipped, beginning at a tile's first row; gap_size 0: none.
    std::uint64_t gap, gap_size;
  };
  void update(const Product& product, Buffer& packed, Buffer& panel, Buffer& panel_paths,
              Stream& stream);
  void pack(std::uint64_t first, std::uint64_t rows, std::uint64_t by, std::uint64_t size,
            Buffer& packed, Stream& stream);
  Buffer& packed_if_wanted(Buffer& rows, std::uint64_t size, Buffer* packed, Stream& stream);
  void close(std::uint64_t block, Stream& stream);
  void send(std::uint64_t block);
  void exchange(const PanelOrder::Signals& signals);
  void update_but(const Slice& slice, std::vector<std::uint64_t> left_out, std::uint64_t round,
                  Buffer& panel, Stream& stream);
  void bring_result(const Slice& slice, Stream& stream) override;
  Rows rows_of(std::uint64_t block) const;
  void upload_weights(Buffer& to, const Slice& slice, Stream& stream);
  Buffer& panel_paths(std::uint64_t block) const {
    return problem_.paths ? (*panel_paths_)[block] : panel_[block];
  }
  Buffer& paths() { return paths_ ? *paths_ : *state_; }  // kernels without paths need some buffer

  const Blocks& blocks_;
  const Kernels kernels_;
  std::unique_ptr<Kernel> begin_, copy_rows_, close_block_, close_rows_;
  std::size_t group_ = 1;          // work-items of close_block
  std::size_t parts_ = 1;          // parts of a block's rows, with a work-item each
  std::size_t close_columns_ = 1;  // columns of a work-group of close_rows
  std::unique_ptr<Buffer> initial_, state_, paths_;
  std::unique_ptr<Buffer> order_;  // first vertex of each item
  const Ring panel_;
  std::optional<Ring> panel_paths_;
  std::unique_ptr<Buffer> inner_panel_, inner_paths_;  // rows that were closed together
  std::unique_ptr<Buffer> packed_, packed_inner_, packed_panel_, packed_inner_panel_;
  std::vector<std::uint32_t> first_vertices_;
  bool order_is_there_ = false;
  PanelOrder panels_;
};

}  // namespace mgpu::tropical
