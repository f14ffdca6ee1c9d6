// One device's part of a product: the copies and launches of a slice of items.
#pragma once

#include "lib/workload/workload.hpp"
#include "suites/common/product_layout.hpp"
#include "suites/common/product_workload.hpp"
#include "suites/common/wave.hpp"

namespace mgpu::product {

inline constexpr std::size_t kPackingGroup = 256;  // as in kernels/packed_tiles.cl

// Returns the grid of pack_rows for `rows` rows of A that begin at a multiple of a panel. `group`:
// work-items of a group that packs blocks; fewer only for kernels that run with any.
Grid pack_rows_grid(const TileKernel& kernel, std::uint64_t rows, std::uint64_t inner,
                    std::size_t group = kPackingGroup);

// Returns those of `candidates` whose buffers fit with slices of at most `fits` items.
template <class Variant>
std::vector<Variant> that_fit(std::vector<Variant> candidates, const DeviceTraits& device,
                              const ProductWorkload& workload, Mode mode, Items fits) {
  std::erase_if(candidates, [&](const Variant& variant) {
    return !layout(workload.sizes(), workload.geometry(), variant, mode, fits).fits(device);
  });
  return candidates;
}

// Shared part of product programs. A suite adds its kernels and their arguments.
class ProductProgram : public DeviceProgram {
 public:
  // `fits`: items per slice at most. `workload` must outlive the program. Throws
  // Error(out_of_memory), Error(device).
  ProductProgram(ProductWorkload& workload, DeviceResources& device, Mode mode, Items fits,
                 const TileKernel& kernel);

  void load(Stream& stream) override;
  void prepare(Stream& stream) override;
  void enqueue(const Slice& slice, unsigned slot, Stream& stream) override;
  ResultPolicy result_policy() const override {
    return mode_ == Mode::end_to_end ? ResultPolicy::slice : ResultPolicy::publish;
  }
  void finished(const Slice& slice) override;
  Completion publish(Stream& stream) override;  // resident: brings the device's part of C

 protected:
  // Tiles that a launch computes, in rows and columns of its buffers: the whole problem, a slice,
  // or a wave.
  struct Part {
    Buffer* tiles;
    std::uint32_t first, items, each;  // position and number of its tiles
    std::uint64_t rows, columns, row0, column0, ldc;
    std::size_t count() const { return std::size_t{items} * each; }
  };
  struct Buffers {  // A and B are packed if the kernel wants it; c_in is C itself if no C is read
    Buffer *a, *b, *c_in, *c, *paths;
  };
  // Computes the tiles of `part`, which is not empty.
  virtual void multiply(const Part& part, const Buffers& buffers, Stream& stream) = 0;
  // Packs rows (columns) of `from`, which has `count` of them, into panels of `to`, beginning with
  // `first`. `grid` covers them.
  virtual void pack_rows(const Grid& grid, Buffer& from, Buffer& to, std::uint32_t first,
                         std::uint32_t count, Stream& stream) = 0;
  virtual void pack_columns(const Grid& grid, Buffer& from, Buffer& to, std::uint32_t first,
                            std::uint32_t count, Stream& stream) = 0;

  const ProductSizes& sizes() const { return sizes_; }

 private:
  // Returns whether devices gather the operand that each of them needs whole with this axis.
  bool gathers(Axis axis) const { return shared_ != nullptr && sizes_.axis == axis; }
  Buffer* a(unsigned slot) { return gathers(Axis::cols) ? shared_ : a_[slot].get(); }
  Buffer* b(unsigned slot) { return gathers(Axis::rows) ? shared_ : b_[slot].get(); }
  // Returns where a rectangle lies on the device and on the host: of C, or of the second result
  // with `element` bytes each.
  Rows rows_of_c(const Rect& rect, unsigned slot, Bytes element) const;
  std::uint64_t place_of_c(const Rect& rect) const;  // offset in host memory, in elements
  void upload_a(std::uint64_t first, std::uint64_t end, std::uint64_t to, unsigned slot,
                Stream& stream);  // rows first .. end
  void upload_b(std::uint64_t first, std::uint64_t end, std::uint64_t to, std::uint64_t width,
                unsigned slot, Stream& stream);
  void upload_c(const Rect& rect, unsigned slot, Stream& stream);
  void bring_panels(const Rect& rect, Stream& stream);
  void fill_row_panels(std::uint64_t first, std::uint64_t end, std::uint64_t count, unsigned slot,
                       Stream& stream);
  void fill_column_panels(std::uint64_t first, std::uint64_t end, std::uint64_t count,
                          unsigned slot, Stream& stream);
  Part bring_slice(const Slice& slice, const Rect& rect, unsigned slot, Stream& stream);
  Part bring_wave(unsigned slot, Stream& stream);
  void launch(const Part& part, unsigned slot, Stream& stream);
  void download_c(const Rect& rect, unsigned slot, Stream& stream);

  ProductWorkload& workload_;
  const ProductSizes& sizes_;
  const Geometry& geometry_;
  const Mode mode_;
  const TileKernel kernel_;
  const Layout layout_;
  const TileTable table_;  // empty for waves, which have their own tiles
  std::unique_ptr<Buffer> a_[2], b_[2], c_[2], c_in_[2], paths_[2], packed_a_[2], packed_b_[2],
      tiles_[2];
  DeviceIndex place_;         // its index in the group of devices that exchange data
  Buffer* shared_ = nullptr;  // the workload's gathered operand; null if none is gathered
  bool tiles_there_ = false;

  std::vector<Slice> done_;   // resident: slices since prepare
  std::uint64_t sample_ = 0;  // the workload's sample at prepare
  // Panels of A and B that are on the device (resident: packed) in this sample; axis tiles only.
  std::vector<bool> row_panels_, column_panels_;
  Wave waves_[2];  // by slot
};

}  // namespace mgpu::product
