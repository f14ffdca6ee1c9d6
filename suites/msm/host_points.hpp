// Points of a curve on the host behind plain bytes, so that nothing above knows which curve it is.
// Bytes of a point are the device's: limbs in Montgomery form, least significant byte first; affine
// x, y (infinity: zeros) or a sum X, Y, ZZ, ZZZ, whose limbs may be up to twice the modulus.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "suites/msm/windows.hpp"

namespace mgpu::msm {

// As in results and files: lower-case hex of fixed width, without 0x. Infinity: zeros.
struct PlainPoint {
  std::string x, y;
  bool operator==(const PlainPoint&) const = default;
};

using SumBytes = std::vector<std::byte>;

class HostPoints {
 public:
  virtual ~HostPoints() = default;
  virtual Curve curve() const = 0;

  // Point i becomes (first + i * step) times the generator. About 0.4 us a point and thread
  // (BN254).
  virtual void multiples(std::span<std::byte> points, const Scalar& first, const Scalar& step,
                         unsigned threads) const = 0;
  // Each writes the affine point (x, y), which is on the curve, or says what is wrong with it. The
  // coordinates are given as parse_number reads them, or in encoded_bytes() as EIP-196 and EIP-2537
  // encode a point: each in one half, most significant byte first. Infinity is x = y = 0.
  virtual std::optional<std::string> parse(std::string_view x, std::string_view y,
                                           std::span<std::byte> point) const = 0;
  virtual std::optional<std::string> decode(std::span<const std::byte> encoded,
                                            std::span<std::byte> point) const = 0;
  // The number of the first of these points of the curve that is not in the subgroup; of several
  // perhaps another one. See subgroup.hpp, with what probability none is found although there is
  // one.
  virtual std::optional<std::uint64_t> outside_subgroup(std::span<const std::byte> points,
                                                        unsigned threads) const = 0;
  virtual PlainPoint plain(std::span<const std::byte> affine) const = 0;

  // What kernels/msm_reduce.cl leaves of the windows `first`, ...: `each` sums a window, either
  // `windows.bits` (A, O_0, O_1, ...) or one, their sum weighted with the bits they stand for. The
  // sum of all, weighted with 2^(first bit of the window).
  virtual SumBytes weighted(std::span<const std::byte> sums, const Windows& windows, unsigned first,
                            unsigned each) const = 0;
  virtual SumBytes infinity() const = 0;
  virtual SumBytes add(const SumBytes& a, const SumBytes& b) const = 0;
  virtual PlainPoint affine(const SumBytes& sum) const = 0;

  // The sum of scalar i times point i by Pippenger's algorithm, unsigned digits, a thread a window:
  // shares the field with the above, and nothing with the kernels.
  virtual PlainPoint multiply(std::span<const std::byte> points, std::span<const Scalar> scalars,
                              unsigned threads) const = 0;
};

const HostPoints& host_points(Curve curve);

}  // namespace mgpu::msm
