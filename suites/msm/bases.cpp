// The kernels are in kernels/msm_bases.cl.
#include "suites/msm/bases.hpp"

#include <algorithm>

namespace mgpu::msm {
namespace {

// Returns the points per work-item. Each work-item makes an inversion (380 multiplications of
// BN254), so blocks should be long; but an H200 runs 67,584 work-items at once, so that at least
// 2^16 blocks should be made if there are enough points.
std::uint32_t block_of(std::uint64_t count) {
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(count >> 16, 16, 256));
}

std::uint64_t blocks_of(std::uint64_t count) {
  return (count + block_of(count) - 1) / block_of(count);
}

constexpr std::uint64_t table_block = 8;  // BLOCK of the kernel

// Returns factor * step modulo r.
Scalar reduced_product(const Scalar& step, std::uint32_t factor, const Scalar& order) {
  Scalar sum{};
  std::uint64_t ignored = 0;
  for (unsigned bit = 32; bit-- > 0;) {  // double and add; each value is below 2 r < 2^256
    sum = add(sum, sum, ignored);
    if (!less(sum, order)) sum = subtract(sum, order, ignored);
    if ((factor >> bit & 1) == 0) continue;
    sum = add(sum, step, ignored);
    if (!less(sum, order)) sum = subtract(sum, order, ignored);
  }
  return sum;
}

}  // namespace

Bases bases_of(Curve curve, std::uint64_t count, const KnownLogs& logs, unsigned threads) {
  Bases bases;
  bases.block = block_of(count);
  bases.count = count;
  bases.starts.resize(blocks_of(count) * affine_bytes(curve));
  bases.row.resize(bases.block * affine_bytes(curve));
  const HostPoints& points = host_points(curve);
  points.multiples(bases.starts, logs.first,
                   reduced_product(logs.step, bases.block, order_of(curve)), threads);
  points.multiples(bases.row, Scalar{}, logs.step, 1);
  return bases;
}

Bytes BaseMaker::buffer_bytes(Curve curve, std::uint64_t count) {
  return count == 0 ? 0 : (blocks_of(count) + block_of(count)) * affine_bytes(curve);
}

BaseMaker::BaseMaker(const Bases& bases, DeviceResources& device, const std::string& options,
                     std::size_t group)
    : bases_(bases),
      group_(group),
      kernel_(device.kernel("msm_bases.cl", "make_points", options)),
      starts_(device.allocate(bases.starts.size())),
      row_(device.allocate(bases.row.size())) {}

void BaseMaker::enqueue(Stream& stream, Buffer& points) {
  stream.upload(*starts_, 0, bases_.starts);
  stream.upload(*row_, 0, bases_.row);
  const std::size_t blocks = ceil_div(bases_.count, bases_.block);
  stream.launch(*kernel_, grid_of(*kernel_, blocks, group_),
                {starts_.get(), row_.get(), bases_.block, bases_.count, &points});
}

TableMaker::TableMaker(const Windows& windows, std::uint64_t points, DeviceResources& device,
                       const std::string& options, std::size_t group)
    : windows_(windows),
      points_(points),
      group_(group),
      kernel_(device.kernel("msm_bases.cl", "make_multiples", options)) {}

void TableMaker::enqueue(Stream& stream, Buffer& table) {
  const std::size_t blocks = ceil_div(points_, table_block);
  for (unsigned row = 1; row < windows_.count; ++row) {
    stream.launch(*kernel_, grid_of(*kernel_, blocks, group_),
                  {&table, points_, row, windows_.bits_of(row - 1)});
  }
}

}  // namespace mgpu::msm
