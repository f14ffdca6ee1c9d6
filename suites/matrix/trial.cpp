// Tries kernels of vendors: each must compute a small product correctly before it is used.
#include <cmath>
#include <cstring>

#include "suites/common/product_program.hpp"
#include "suites/matrix/kernels.hpp"

namespace mgpu::matrix {
namespace {

// A product that is ragged on every side, larger than one tile each way, and longer than two stages
// of any kernel.
template <class Real>
struct Example {
  explicit Example(const Variant& variant)
      : rows(variant.tile_rows + 3),
        columns((variant.tile_columns + 5) / 4 * 4),
        a(std::size_t{rows} * inner),
        b(std::size_t{inner} * columns),
        c(std::size_t{rows} * columns, Real{-1}) {
    std::uint32_t state = 12345;
    const auto next = [&] {
      // Numerical Recipes' quick generator; any mixed signs and exponents will do.
      state = state * 1664525u + 1013904223u;
      return static_cast<Real>(static_cast<std::int32_t>(state)) *
             static_cast<Real>(std::ldexp(1.0, -20 - static_cast<int>(state >> 20 & 31)));
    };
    for (Real& x : a) x = next();
    for (Real& x : b) x = next();
  }

  // Runs the kernels. Returns false if the device cannot run commands at set-up.
  bool run(DeviceResources& device, const Kernels& kernels) {
    const Variant& variant = kernels.variant;
    const std::vector<std::uint32_t> tiles{0, 1, 1 << 16, 1 << 16 | 1};
    const auto made = [&](std::size_t count) { return device.allocate(count * sizeof(Real)); };
    const auto da = made(a.size()), db = made(b.size()), dc = made(c.size());
    const auto dt = device.allocate(tiles.size() * sizeof(std::uint32_t));
    const std::size_t panel = std::max(variant.panel_rows, 1u);
    const auto packed = made(round_up(rows, panel) * inner);
    const std::uint32_t zero = 0, two = 2;
    const auto ran = device.try_out([&](Stream& stream) {
      stream.upload(*da, 0, std::as_bytes(std::span(a)));
      stream.upload(*db, 0, std::as_bytes(std::span(b)));
      stream.upload(*dt, 0, std::as_bytes(std::span(tiles)));
      if (variant.panel_rows > 0)
        stream.launch(*kernels.pack_rows, pack_rows_grid(variant, rows, inner),
                      {da.get(), packed.get(), zero, rows, inner, inner});
      Buffer* from = variant.panel_rows > 0 ? packed.get() : da.get();
      stream.launch(*kernels.multiply, grid_of(4 * std::size_t{variant.threads}, variant.threads),
                    {from, db.get(), dc.get(), dc.get(), dt.get(), zero, two, two, rows, columns,
                     inner, zero, zero, inner, columns, columns, Real{1}, Real{0}});
      stream.download(*dc, 0, std::as_writable_bytes(std::span(c)));
    });
    return ran.has_value();
  }

  bool is_right(std::uint32_t i, std::uint32_t j, bool exact) const {
    Real chain = 0;
    double sum = 0, magnitude = 0;
    for (std::uint32_t k = 0; k < inner; ++k) {
      const Real x = a[i * inner + k], y = b[k * columns + j];
      chain = std::fma(x, y, chain);
      sum += static_cast<double>(x) * static_cast<double>(y);
      magnitude += std::abs(static_cast<double>(x) * static_cast<double>(y));
    }
    const Real got = c[i * columns + j];
    if (exact) return std::memcmp(&chain, &got, sizeof got) == 0;
    return std::abs(static_cast<double>(got) - sum) <=
           std::ldexp(magnitude, -20);  // TF32 alone has 2^-11
  }

  // Whole vectors, because kernels for aligned rows copy 16 bytes at a time.
  static constexpr std::uint32_t inner = 60;
  std::uint32_t rows, columns;
  std::vector<Real> a, b, c;
};

template <class Real>
bool works(DeviceResources& device, const Kernels& kernels) {
  Example<Real> example(kernels.variant);
  if (!example.run(device, kernels)) return false;
  for (std::uint32_t i = 0; i < example.rows; ++i) {
    for (std::uint32_t j = 0; j < example.columns; ++j) {
      if (!example.is_right(i, j, kernels.variant.exact)) return false;
    }
  }
  return true;
}

}  // namespace

Kernels choose_kernels(DeviceResources& device, const std::vector<Variant>& candidates,
                       Precision precision) {
  return product::choose_kernels(
      device, candidates, "matrix_multiply", [&](const Kernels& kernels) {
        return precision == Precision::fp64 ? works<double>(device, kernels)
                                            : works<float>(device, kernels);
      });
}

}  // namespace mgpu::matrix
