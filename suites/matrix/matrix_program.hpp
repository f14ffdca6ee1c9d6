// One device's part of a product: what is copied and launched for a slice of items.
#pragma once

#include "lib/workload/workload.hpp"
#include "suites/matrix/layout.hpp"
#include "suites/matrix/matrix_workload.hpp"
#include "suites/matrix/wave.hpp"

namespace mgpu::matrix {

class MatrixProgram : public DeviceProgram {
 public:
  // Takes slices of at most `fits` items; computes with the first of `candidates` that fits and works. `workload` outlives it.
  // Throws Error(out_of_memory), Error(unsupported), Error(device).
  MatrixProgram(MatrixWorkload& workload, DeviceResources& device, Mode mode, Items fits, const std::vector<Variant>& candidates);

  std::string kernel_variant() const override { return kernels_.variant.name(); }
  void load(Stream& stream) override;
  void prepare(Stream& stream) override;
  void enqueue(const Slice& slice, unsigned slot, Stream& stream) override;
  Brings brings() const override { return mode_ == Mode::end_to_end ? Brings::slice : Brings::publish; }
  void finished(const Slice& slice) override;
  void publish(Stream& stream) override;  // resident: the device's part of C
  void published() override;

 private:
  // What a launch computes, in the rows and columns of its buffers: all of the problem, the slice's, or a wave's.
  struct Part {
    Buffer* tiles;
    std::uint32_t first, items, each;  // of the tiles
    std::uint64_t rows, columns, row0, column0, ldc;
  };
  // Is the operand that every device needs whole, by this axis, gathered?
  bool gathers(Axis axis) const { return shared_ != nullptr && problem_.axis == axis; }
  Buffer* a(unsigned slot) { return gathers(Axis::cols) ? shared_ : a_[slot].get(); }
  Buffer* b(unsigned slot) { return gathers(Axis::rows) ? shared_ : b_[slot].get(); }
  Rows rows_of_c(const Rect& rect, unsigned slot) const;
  Bytes place_of_c(const Rect& rect) const;                                                                // in host memory
  void upload_a(std::uint64_t first, std::uint64_t end, std::uint64_t to, unsigned slot, Stream& stream);  // rows
  void upload_b(std::uint64_t first, std::uint64_t end, std::uint64_t to, std::uint64_t width, unsigned slot, Stream& stream);
  void upload_c(const Rect& rect, unsigned slot, Stream& stream);
  void bring_panels(const Rect& rect, Stream& stream);
  void pack_rows(std::uint64_t first, std::uint64_t end, std::uint64_t count, unsigned slot, Stream& stream);
  void pack_columns(std::uint64_t first, std::uint64_t end, std::uint64_t count, unsigned slot, Stream& stream);
  Part bring_slice(const Slice& slice, const Rect& rect, unsigned slot, Stream& stream);
  Part bring_wave(unsigned slot, Stream& stream);
  void multiply(const Part& part, unsigned slot, Stream& stream);
  void download_c(const Rect& rect, unsigned slot, Stream& stream);

  MatrixWorkload& workload_;
  const Problem& problem_;
  const Geometry& geometry_;
  const Mode mode_;
  const Kernels kernels_;
  const Layout layout_;
  const TileTable table_;  // empty for waves, which have their own
  std::unique_ptr<Buffer> a_[2], b_[2], c_[2], c_in_[2], packed_a_[2], packed_b_[2], tiles_[2];
  DeviceIndex place_;         // in the group that the device exchanges data in
  Buffer* shared_ = nullptr;  // of the workload: the operand that is gathered; null: none is
  bool tiles_there_ = false;

  std::vector<Slice> done_;                       // since prepare, resident
  std::uint64_t sample_ = 0;                      // of the workload, at prepare
  std::vector<bool> row_panels_, column_panels_;  // tiles: which of A and B are on the device, or packed there, in this sample
  Wave waves_[2];                                 // by slot
};

}  // namespace mgpu::matrix
