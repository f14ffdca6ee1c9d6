// One device's part of a product: what is copied and launched for a slice of items.
#pragma once

#include "lib/workload/workload.hpp"
#include "suites/matrix/layout.hpp"
#include "suites/matrix/matrix_workload.hpp"

namespace mgpu::matrix {

class MatrixProgram : public DeviceProgram {
 public:
  // Takes slices of at most `fits` items. `workload` outlives it. Throws Error(out_of_memory), Error(device).
  MatrixProgram(MatrixWorkload& workload, DeviceResources& device, Mode mode, Items fits);

  void load(Stream& stream) override;
  void prepare(Stream& stream) override;
  void enqueue(const Slice& slice, unsigned slot, Stream& stream) override;
  void collect(Stream& stream) override;
  void collected() override;
  void publish(Stream& stream) override;  // resident: the device's part of C
  void published() override;
  void merge(Stream&) override {}  // every element is computed where it is wanted
  void merged() override {}

 private:
  Rows rows_of_c(const Rect& rect) const;
  Bytes place_of_c(const Rect& rect) const;                                              // in host memory
  void upload_a(std::uint64_t first, std::uint64_t end, unsigned slot, Stream& stream);  // rows
  void upload_b(std::uint64_t first, std::uint64_t end, unsigned slot, Stream& stream);  // columns
  void upload_c(const Rect& rect, unsigned slot, Stream& stream);
  void bring_panels(const Rect& rect, Stream& stream);
  void pack_rows(std::uint64_t first, std::uint64_t end, unsigned slot, Stream& stream);
  void pack_columns(std::uint64_t first, std::uint64_t end, unsigned slot, Stream& stream);
  void multiply(const Slice& slice, const Rect& rect, unsigned slot, Stream& stream);
  void download_c(const Rect& rect, unsigned slot, Stream& stream);

  MatrixWorkload& workload_;
  const Problem& problem_;
  const Geometry& geometry_;
  const Mode mode_;
  const Kernels kernels_;
  const Layout layout_;
  const TileTable table_;
  std::unique_ptr<Buffer> a_[2], b_[2], c_[2], c_in_[2], packed_a_[2], packed_b_[2], tiles_;
  bool tiles_there_ = false;

  std::vector<Slice> done_;                       // since prepare
  std::uint64_t sample_ = 0;                      // of the workload, at prepare
  std::vector<bool> row_panels_, column_panels_;  // tiles, end to end: which of A and B are on the device in this sample
};

}  // namespace mgpu::matrix
