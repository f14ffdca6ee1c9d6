// One device's part of a product (suites/common/product_program.hpp): its kernels and their
// arguments.
#pragma once

#include "suites/common/product_program.hpp"
#include "suites/matrix/kernels.hpp"
#include "suites/matrix/matrix_workload.hpp"

namespace mgpu::matrix {

class MatrixProgram final : public ProductProgram {
 public:
  // `fits`: items per slice at most. Uses the first of `candidates` that fits and works. `workload`
  // must outlive the program. Throws Error(out_of_memory), Error(unsupported), Error(device).
  MatrixProgram(MatrixWorkload& workload, DeviceResources& device, Mode mode, Items fits,
                const std::vector<Variant>& candidates);

  std::string kernel_variant() const override { return kernels_.variant.name(); }

 private:
  MatrixProgram(MatrixWorkload& workload, DeviceResources& device, Mode mode, Items fits,
                Kernels kernels);
  void multiply(const Part& part, const Buffers& buffers, Stream& stream) override;
  void pack_rows(const Grid& grid, Buffer& from, Buffer& to, std::uint32_t first,
                 std::uint32_t count, Stream& stream) override;
  void pack_columns(const Grid& grid, Buffer& from, Buffer& to, std::uint32_t first,
                    std::uint32_t count, Stream& stream) override;

  const Problem& problem_;
  const Kernels kernels_;
};

}  // namespace mgpu::matrix
