// kernels/stencil.cl as plain loops, for devices of the fake backend.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "lib/exec/fake_backend.hpp"
#include "tests/support/copy_part.hpp"

namespace mgpu::test {

template <class Real>
struct StencilArgs {
  explicit StencilArgs(std::span<const FakeArg> given) : args(given) {}
  Real* cells(std::size_t i) const {
    return reinterpret_cast<Real*>(std::get<std::span<std::byte>>(args[i]).data());
  }
  std::uint32_t u(std::size_t i) const { return std::get<std::uint32_t>(args[i]); }
  Real real(std::size_t i) const { return std::get<Real>(args[i]); }
  std::span<const FakeArg> args;
};

// `stale`: what lies above the first row is taken from the state of two steps ago, once.
template <class Real>
void jacobi2d(std::span<const FakeArg> given, bool stale) {
  const StencilArgs<Real> args(given);
  const Real* const from = args.cells(0);
  const std::uint32_t first = args.u(2), end = args.u(3), shift = args.u(4), above = args.u(5),
                      below = args.u(6), n = args.u(7), stride = args.u(8);
  for (std::uint32_t row = first; row < end; ++row) {
    const Real* const north = (stale && row == first ? args.cells(1) : from) +
                              (row == first ? above : row + shift - 1) * std::size_t{stride};
    const Real* const here = from + (row + shift) * std::size_t{stride};
    const Real* const south =
        from + (row + 1 == end ? below : row + shift + 1) * std::size_t{stride};
    Real* const to = args.cells(1) + row * std::size_t{stride};
    to[0] = here[0];
    to[n - 1] = here[n - 1];
    for (std::uint32_t x = 1; x + 1 < n; ++x)
      to[x] = (((here[x - 1] + here[x + 1]) + north[x]) + south[x]) * Real{0.25};
  }
}

// kernels/stencil_persistent.cl's, on a device that is its own neighbour.
template <class Real>
void jacobi2d_persistent(std::span<const FakeArg> given) {
  const StencilArgs<Real> args(given);
  const std::uint32_t first = args.u(8), rows = args.u(9), shift = args.u(10), n = args.u(13),
                      stride = args.u(14);
  const std::size_t size = std::size_t{rows} * stride;
  std::vector<Real> now(args.cells(0) + std::size_t{first + shift} * stride,
                        args.cells(0) + std::size_t{first + shift} * stride + size);
  for (std::uint32_t step = 0; step < args.u(15); ++step) {
    const std::vector<Real> before = now;
    for (std::uint32_t row = 0; row < rows; ++row) {
      const Real* const here = before.data() + row * std::size_t{stride};
      const Real* const north = before.data() + (row + rows - 1) % rows * std::size_t{stride};
      const Real* const south = before.data() + (row + 1) % rows * std::size_t{stride};
      for (std::uint32_t x = 1; x + 1 < n; ++x)
        now[row * std::size_t{stride} + x] =
            (((here[x - 1] + here[x + 1]) + north[x]) + south[x]) * Real{0.25};
    }
  }
  std::copy(now.begin(), now.end(), args.cells(1) + std::size_t{first} * stride);
}

template <class Real>
void heat3d(std::span<const FakeArg> given) {
  const StencilArgs<Real> args(given);
  const std::uint32_t first = args.u(2), end = args.u(3), shift = args.u(4), n = args.u(7),
                      stride = args.u(8);
  const std::size_t plane = std::size_t{n} * stride;
  for (std::uint32_t z = first; z < end; ++z) {
    for (std::uint32_t y = 0; y < n; ++y) {
      for (std::uint32_t x = 0; x < n; ++x) {
        const Real* const at = args.cells(0) + (z + shift) * plane + std::size_t{y} * stride + x;
        Real now = *at;
        if (x > 0 && x + 1 < n && y > 0 && y + 1 < n && z != args.u(5) && z != args.u(6)) {
          const Real around =
              ((((at[-1] + at[1]) + *(at - stride)) + at[stride]) + *(at - plane)) + at[plane];
          now = args.real(9) * (around - Real{6} * *at) + *at;
        }
        args.cells(1)[z * plane + std::size_t{y} * stride + x] = now;
      }
    }
  }
}

template <class Real>
void star(std::span<const FakeArg> given, std::uint32_t radius) {
  const StencilArgs<Real> args(given);
  const std::uint32_t first = args.u(3), end = args.u(4), shift = args.u(5), n = args.u(8),
                      r = radius;
  const std::size_t stride = args.u(9);
  for (std::uint32_t row = first; row < end; ++row) {
    for (std::uint32_t x = 0; x < n; ++x) {
      const Real* const at = args.cells(0) + (row + shift) * stride + x;
      Real& sum = args.cells(2)[row * stride + x];
      if (args.u(10) != 0) sum = 0;
      args.cells(1)[row * stride + x] = *at + Real{1};
      if (row < args.u(6) || row >= args.u(7) || x < r || x + r >= n) continue;
      Real gain = 0;
      for (std::uint32_t d = r; d > 0; --d) gain -= args.real(10 + d) * *(at - d);
      for (std::uint32_t d = 1; d <= r; ++d) gain += args.real(10 + d) * at[d];
      for (std::uint32_t d = r; d > 0; --d) gain -= args.real(10 + d) * *(at - d * stride);
      for (std::uint32_t d = 1; d <= r; ++d) gain += args.real(10 + d) * at[d * stride];
      sum += gain;
    }
  }
}

template <class Real>
void change(const Grid& grid, std::span<const FakeArg> given) {
  const StencilArgs<Real> args(given);
  const std::size_t stride = args.u(7);
  for (std::size_t row = args.u(3); row < args.u(3) + grid.global[1]; ++row) {
    const Real *const before = args.cells(0) + (row + args.u(4)) * stride, *const now =
                                                                               args.cells(1) +
                                                                               row * stride;
    std::array<Real, 64> sums{};
    for (std::size_t x = 0; x < args.u(6); ++x)
      sums[x % 64] += (now[x] - before[x]) * (now[x] - before[x]);
    for (std::size_t half = 32; half > 0; half /= 2)
      for (std::size_t i = 0; i < half; ++i) sums[i] += sums[i + half];
    args.cells(2)[std::get<std::uint64_t>(given[5]) + row - args.u(3)] = sums[0];
  }
}

// kernels/stencil_blocks.cl's.
template <class Real>
void jacobi2d_block(const Grid& grid, std::span<const FakeArg> given) {
  const StencilArgs<Real> args(given);
  const std::size_t n = args.u(5), stride = args.u(6), first = args.u(2);
  for (std::size_t row = first; row < first + grid.global[1]; ++row) {
    for (std::size_t x = args.u(3); x < args.u(4); ++x) {
      const Real* const from = args.cells(0);
      const Real* const here = from + row * stride + x;
      const Real north = from[(row + n - 1) % n * stride + x],
                 south = from[(row + 1) % n * stride + x];
      args.cells(1)[row * stride + x] =
          x == 0 || x + 1 == n ? *here : (((here[-1] + here[1]) + north) + south) * Real{0.25};
    }
  }
}

template <class Real>
void heat3d_block(const Grid& grid, std::span<const FakeArg> given) {
  const StencilArgs<Real> args(given);
  const std::size_t first = args.u(2), left = args.u(3), n = args.u(4), stride = args.u(5),
                    plane = n * stride;
  for (std::size_t z = first; z < first + grid.global[2]; ++z) {
    for (std::size_t y = left; y < left + grid.global[1]; ++y) {
      for (std::size_t x = 0; x < n; ++x) {
        const Real* const at = args.cells(0) + z * plane + y * stride + x;
        Real now = *at;
        if (x > 0 && x + 1 < n && y > 0 && y + 1 < n && z > 0 && z + 1 < n) {
          const Real around =
              ((((at[-1] + at[1]) + *(at - stride)) + at[stride]) + *(at - plane)) + at[plane];
          now = args.real(6) * (around - Real{6} * *at) + *at;
        }
        args.cells(1)[z * plane + y * stride + x] = now;
      }
    }
  }
}

template <class Real>
void star_block(const Grid& grid, std::span<const FakeArg> given, std::uint32_t r) {
  const StencilArgs<Real> args(given);
  const std::size_t first = args.u(3), n = args.u(6), stride = args.u(7);
  for (std::size_t row = first; row < first + grid.global[1]; ++row) {
    for (std::size_t x = args.u(4); x < args.u(5); ++x) {
      const Real* const at = args.cells(0) + row * stride + x;
      Real& sum = args.cells(2)[row * stride + x];
      if (args.u(8) != 0) sum = 0;
      args.cells(1)[row * stride + x] = *at + Real{1};
      if (row < r || row + r >= n || x < r || x + r >= n) continue;
      Real gain = 0;
      for (std::uint32_t d = r; d > 0; --d) gain -= args.real(8 + d) * *(at - d);
      for (std::uint32_t d = 1; d <= r; ++d) gain += args.real(8 + d) * at[d];
      for (std::uint32_t d = r; d > 0; --d) gain -= args.real(8 + d) * *(at - d * stride);
      for (std::uint32_t d = 1; d <= r; ++d) gain += args.real(8 + d) * at[d * stride];
      sum += gain;
    }
  }
}

template <class Real>
void copy_rows(const Grid& grid, std::span<const FakeArg> given) {
  const StencilArgs<Real> args(given);
  const auto count = [&](std::size_t i) { return std::get<std::uint64_t>(given[i]); };
  for (std::uint64_t row = 0; row < grid.global[1]; ++row) {
    for (std::uint64_t x = 0; x < args.u(6); ++x)
      args.cells(1)[count(4) + row * count(5) + x] = args.cells(0)[count(2) + row * count(3) + x];
  }
}

// `stale_launch`: the launch of jacobi2d that finds a stale halo; 0: none.
template <class Real>
FakeKernels stencil_kernels(unsigned stale_launch, std::uint32_t radius) {
  FakeKernelCode plane, many, box, sums, changes;
  plane.run = [stale_launch, launches = std::make_shared<unsigned>(0)](
                  const Grid&, std::span<const FakeArg> given) {
    jacobi2d<Real>(given, ++*launches == stale_launch);
  };
  many.run = [](const Grid&, std::span<const FakeArg> given) { jacobi2d_persistent<Real>(given); };
  many.ops = [](const Grid&, std::span<const FakeArg> given) {
    const StencilArgs<Real> args(given);
    return static_cast<double>(args.u(9)) * args.u(15);
  };
  box.run = [](const Grid&, std::span<const FakeArg> given) { heat3d<Real>(given); };
  sums.run = [radius](const Grid&, std::span<const FakeArg> given) { star<Real>(given, radius); };
  changes.run = change<Real>;
  plane.ops = box.ops = [](const Grid&, std::span<const FakeArg> given) {
    const StencilArgs<Real> args(given);
    return static_cast<double>(args.u(3) - args.u(2));
  };
  sums.ops = [](const Grid&, std::span<const FakeArg> given) {
    const StencilArgs<Real> args(given);
    return static_cast<double>(args.u(4) - args.u(3));
  };
  changes.ops = [](const Grid& grid, std::span<const FakeArg>) {
    return static_cast<double>(grid.global[1]);
  };
  const auto of_cells = [](auto run) {
    FakeKernelCode code;
    code.run = run;
    code.ops = [](const Grid& grid, std::span<const FakeArg>) {
      return static_cast<double>(grid.global[0] * grid.global[1] * grid.global[2]);
    };
    return code;
  };
  const auto blocks = [radius](const Grid& grid, std::span<const FakeArg> given) {
    star_block<Real>(grid, given, radius);
  };
  return {{"jacobi2d", plane},
          {"jacobi2d_persistent", many},
          {"copy_part", copy_part_code()},
          {"heat3d", box},
          {"star", sums},
          {"change", changes},
          {"jacobi2d_block", of_cells(jacobi2d_block<Real>)},
          {"heat3d_block", of_cells(heat3d_block<Real>)},
          {"star_block", of_cells(blocks)},
          {"copy_rows", of_cells(copy_rows<Real>)}};
}

}  // namespace mgpu::test
