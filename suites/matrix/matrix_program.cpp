#include "suites/matrix/matrix_program.hpp"

#include <utility>

namespace mgpu::matrix {
MatrixProgram::MatrixProgram(MatrixWorkload& workload, DeviceResources& device, Mode mode,
                             Items fits, const std::vector<Variant>& candidates)
    : MatrixProgram(
          workload, device, mode, fits,
          choose_kernels(device, that_fit(candidates, device.traits(), workload, mode, fits),
                         workload.problem().precision)) {}

MatrixProgram::MatrixProgram(MatrixWorkload& workload, DeviceResources& device, Mode mode,
                             Items fits, Kernels kernels)
    : ProductProgram(workload, device, mode, fits, kernels.variant),
      problem_(workload.problem()),
      kernels_(std::move(kernels)) {}

void MatrixProgram::pack_rows(const Grid& grid, Buffer& from, Buffer& to, std::uint32_t first,
                              std::uint32_t count, Stream& stream) {
  const std::uint32_t inner = u32(problem_.inner);
  stream.launch(*kernels_.pack_rows, grid, {&from, &to, first, count, inner, inner});
}

void MatrixProgram::pack_columns(const Grid& grid, Buffer& from, Buffer& to, std::uint32_t first,
                                 std::uint32_t count, Stream& stream) {
  stream.launch(*kernels_.pack_columns, grid,
                {&from, &to, first, count, u32(problem_.inner), count});
}

void MatrixProgram::multiply(const Part& part, const Buffers& of, Stream& stream) {
  const std::uint32_t rows = u32(part.rows), columns = u32(part.columns),
                      inner = u32(problem_.summed());
  const std::uint32_t row0 = u32(part.row0), column0 = u32(part.column0), lda = u32(problem_.inner),
                      ldc = u32(part.ldc);
  const std::size_t threads = kernels_.variant.threads;
  const Grid grid = grid_of(part.count() * threads, threads);
  const auto launch = [&](KernelArg alpha, KernelArg beta) {
    stream.launch(*kernels_.multiply, grid,
                  {of.a, of.b, of.c_in, of.c, part.tiles, part.first, part.items, part.each, rows,
                   columns, inner, row0, column0, lda, ldc, ldc, alpha, beta});
  };
  if (problem_.precision == Precision::fp64) {
    launch(problem_.alpha, problem_.beta);
  } else {
    launch(static_cast<float>(problem_.alpha), static_cast<float>(problem_.beta));
  }
}

}  // namespace mgpu::matrix
