// The kernels of kernels/stencil*.cl as plain loops, for devices of the fake backend.
#pragma once

#include <array>
#include <vector>

#include "tests/support/copy_part.hpp"
#include "tests/support/fake_backend.hpp"

namespace mgpu::test {

template <class Real>
struct StencilCall {
  Real* cells(std::size_t i) const {
    return reinterpret_cast<Real*>(std::get<std::span<std::byte>>(args[i]).data());
  }
  std::size_t u(std::size_t i) const { return std::get<std::uint32_t>(args[i]); }
  std::size_t wide(std::size_t i) const { return std::get<std::uint64_t>(args[i]); }
  Real real(std::size_t i) const { return std::get<Real>(args[i]); }

  // Computes a cell of each kind, in the order in which the kernels add; weights[d] applies to
  // distance d.
  static Real jacobi(const Real* at, Real north, Real south) {
    return (((at[-1] + at[1]) + north) + south) * Real{0.25};
  }
  static Real heat(const Real* at, std::size_t row, std::size_t plane, Real rate) {
    const Real around = ((((at[-1] + at[1]) + *(at - row)) + at[row]) + *(at - plane)) + at[plane];
    return rate * (around - Real{6} * *at) + *at;
  }
  static Real star(const Real* at, std::size_t row, std::size_t radius, const Real* weights) {
    Real gain = 0;
    for (std::size_t axis = 0, step = 1; axis < 2; ++axis, step = row) {
      for (std::size_t d = radius; d > 0; --d) gain -= weights[d] * *(at - d * step);
      for (std::size_t d = 1; d <= radius; ++d) gain += weights[d] * at[d * step];
    }
    return gain;
  }

  std::span<const FakeArg> args;
  std::array<std::size_t, 3> items;
};

// Computes the layers [first, end), which end along one axis.
template <class Real>
void jacobi2d_rows(const StencilCall<Real>& call) {
  const std::size_t first = call.u(2), end = call.u(3), shift = call.u(4), n = call.u(7),
                    stride = call.u(8);
  for (std::size_t row = first; row < end; ++row) {
    Real* const to = call.cells(1) + row * stride;
    const auto from = [&](std::size_t r) { return call.cells(0) + r * stride; };
    const Real* const here = from(row + shift);
    const Real* const north = from(row == first ? call.u(5) : row + shift - 1);
    const Real* const south = from(row + 1 == end ? call.u(6) : row + shift + 1);
    for (std::size_t x = 0; x < n; ++x)
      to[x] = x == 0 || x + 1 == n ? here[x] : call.jacobi(here + x, north[x], south[x]);
  }
}

// Computes the steps on a device that is its own neighbour.
template <class Real>
void jacobi2d_steps(const StencilCall<Real>& call) {
  const std::size_t rows = call.u(9), n = call.u(13), stride = call.u(14);
  const Real* const from = call.cells(0) + (call.u(8) + call.u(10)) * stride;
  std::vector<Real> now(from, from + rows * stride);
  for (std::size_t step = 0; step < call.u(15); ++step) {
    const std::vector<Real> before = now;
    for (std::size_t row = 0; row < rows; ++row) {
      const Real* const here = before.data() + row * stride;
      const Real* const north = before.data() + (row + rows - 1) % rows * stride;
      const Real* const south = before.data() + (row + 1) % rows * stride;
      Real* const to = now.data() + row * stride;
      for (std::size_t x = 1; x + 1 < n; ++x) to[x] = call.jacobi(here + x, north[x], south[x]);
    }
  }
  std::copy(now.begin(), now.end(), call.cells(1) + call.u(8) * stride);
}

template <class Real>
void heat3d_planes(const StencilCall<Real>& call, bool blocks) {
  const std::size_t first = call.u(2), left = blocks ? call.u(3) : 0, n = call.u(blocks ? 4 : 7),
                    stride = call.u(blocks ? 5 : 8), plane = n * stride,
                    end = blocks ? first + call.items[2] : call.u(3),
                    right = blocks ? left + call.items[1] : n, shift = blocks ? 0 : call.u(4),
                    fixed_first = blocks ? 0 : call.u(5), fixed_last = blocks ? n - 1 : call.u(6);
  const Real rate = call.real(blocks ? 6 : 9);
  for (std::size_t z = first; z < end; ++z) {
    for (std::size_t y = left; y < right; ++y) {
      const Real* const from = call.cells(0) + (z + shift) * plane + y * stride;
      Real* const to = call.cells(1) + z * plane + y * stride;
      const bool fixed = y == 0 || y + 1 == n || z == fixed_first || z == fixed_last;
      for (std::size_t x = 0; x < n; ++x)
        to[x] = fixed || x == 0 || x + 1 == n ? from[x] : call.heat(from + x, stride, plane, rate);
    }
  }
}

template <class Real>
void star_rows(const StencilCall<Real>& call, std::size_t radius, bool blocks) {
  const std::size_t first = call.u(3), n = call.u(blocks ? 6 : 8), stride = call.u(blocks ? 7 : 9),
                    end = blocks ? first + call.items[1] : call.u(4), left = blocks ? call.u(4) : 0,
                    right = blocks ? call.u(5) : n, shift = blocks ? 0 : call.u(5),
                    inner_first = blocks ? radius : call.u(6),
                    inner_end = blocks ? n - radius : call.u(7), begins = blocks ? 8 : 10;
  std::array<Real, 5> weights{};
  for (std::size_t d = 1; d <= radius; ++d) weights[d] = call.real(begins + d);
  for (std::size_t row = first; row < end; ++row) {
    const Real* const from = call.cells(0) + (row + shift) * stride;
    Real *const to = call.cells(1) + row * stride, *const sums = call.cells(2) + row * stride;
    const bool inside = row >= inner_first && row < inner_end, set = call.u(begins) != 0;
    for (std::size_t x = left; x < right; ++x) {
      if (set) sums[x] = 0;
      to[x] = from[x] + Real{1};
      if (inside && x >= radius && x + radius < n)
        sums[x] += call.star(from + x, stride, radius, weights.data());
    }
  }
}

template <class Real>
void jacobi2d_block(const StencilCall<Real>& call) {
  const std::size_t n = call.u(5), stride = call.u(6), first = call.u(2);
  for (std::size_t row = first; row < first + call.items[1]; ++row) {
    for (std::size_t x = call.u(3); x < call.u(4); ++x) {
      const auto from = [&](std::size_t r) { return call.cells(0) + r % n * stride + x; };
      call.cells(1)[row * stride + x] =
          x == 0 || x + 1 == n ? *from(row)
                               : call.jacobi(from(row), *from(row + n - 1), *from(row + 1));
    }
  }
}

template <class Real>
void change_of_rows(const StencilCall<Real>& call) {
  const std::size_t stride = call.u(7);
  for (std::size_t row = call.u(3); row < call.u(3) + call.items[1]; ++row) {
    const Real* const before = call.cells(0) + (row + call.u(4)) * stride;
    const Real* const now = call.cells(1) + row * stride;
    std::array<Real, 64> sums{};
    for (std::size_t x = 0, n = call.u(6); x < n; ++x)
      sums[x % 64] += (now[x] - before[x]) * (now[x] - before[x]);
    for (std::size_t half = 32; half > 0; half /= 2)
      for (std::size_t i = 0; i < half; ++i) sums[i] += sums[i + half];
    call.cells(2)[call.wide(5) + row - call.u(3)] = sums[0];
  }
}

template <class Real>
void copy_block_rows(const StencilCall<Real>& call) {
  for (std::size_t row = 0; row < call.items[1]; ++row)
    std::copy_n(call.cells(0) + call.wide(2) + row * call.wide(3), call.u(6),
                call.cells(1) + call.wide(4) + row * call.wide(5));
}

template <class Real>
FakeKernels stencil_kernels(std::size_t radius) {
  using Call = StencilCall<Real>;
  const auto code = [](auto run, auto ops) {
    FakeKernelCode made;
    made.run = [run](const Grid& grid, std::span<const FakeArg> args) {
      run(Call{args, grid.global});
    };
    made.ops = [ops](const Grid& grid, std::span<const FakeArg> args) {
      return static_cast<double>(ops(Call{args, grid.global}));
    };
    return made;
  };
  const auto layers = [](const Call& call) { return call.u(3) - call.u(2); };
  const auto rows = [](const Call& call) { return call.items[1]; };
  const auto cells = [](const Call& call) { return call.items[0] * call.items[1] * call.items[2]; };
  return {{"jacobi2d", code(jacobi2d_rows<Real>, layers)},
          {"jacobi2d_persistent",
           code(jacobi2d_steps<Real>, [](const Call& call) { return call.u(9) * call.u(15); })},
          {"copy_part", copy_part_code()},
          {"heat3d", code([](const Call& call) { heat3d_planes(call, false); }, layers)},
          {"star", code([=](const Call& call) { star_rows(call, radius, false); },
                        [](const Call& call) { return call.u(4) - call.u(3); })},
          {"change", code(change_of_rows<Real>, rows)},
          {"jacobi2d_block", code(jacobi2d_block<Real>, cells)},
          {"heat3d_block", code([](const Call& call) { heat3d_planes(call, true); }, cells)},
          {"star_block", code([=](const Call& call) { star_rows(call, radius, true); }, cells)},
          {"copy_rows", code(copy_block_rows<Real>, cells)}};
}

}  // namespace mgpu::test
