// Points on the host as plain bytes, so that callers need not know the curve. The bytes have the
// devices' format: limbs in Montgomery form, least significant byte first. An affine point is x, y
// (infinity: zeros); a sum is X, Y, ZZ, ZZZ with limbs up to twice the modulus.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "suites/msm/windows.hpp"

namespace mgpu::msm {

// Point as in results and files: lower-case hexadecimal of fixed width, without 0x. Infinity is
// zeros.
struct PlainPoint {
  std::string x, y;
  bool operator==(const PlainPoint&) const = default;
};

using SumBytes = std::vector<std::byte>;

class HostPoints {
 public:
  virtual ~HostPoints() = default;
  virtual Curve curve() const = 0;

  // Sets point i to (first + i * step) times the generator. Takes about 0.4 us per point and thread
  // (BN254).
  virtual void multiples(std::span<std::byte> points, const Scalar& first, const Scalar& step,
                         unsigned threads) const = 0;
  // Both write an affine point (x, y) that is on the curve, or return what is wrong with it. The
  // coordinates come as text for parse_number, or as encoded_bytes() in the encoding of EIP-196 and
  // EIP-2537: one half each, most significant byte first. Infinity is x = y = 0.
  virtual std::optional<std::string> parse(std::string_view x, std::string_view y,
                                           std::span<std::byte> point) const = 0;
  virtual std::optional<std::string> decode(std::span<const std::byte> encoded,
                                            std::span<std::byte> point) const = 0;
  // Returns the index of the first of these points of the curve that is outside of the subgroup, or
  // of another one if there are several. subgroup.hpp has the probability that it misses them.
  virtual std::optional<std::uint64_t> outside_subgroup(std::span<const std::byte> points,
                                                        unsigned threads) const = 0;
  virtual PlainPoint plain(std::span<const std::byte> affine) const = 0;

  // Returns the sum of the windows `first`, ..., each weighted with 2^(first bit of the window).
  // The input is the output of kernels/msm_reduce.cl: per window `each` sums, either `windows.bits`
  // of them (A, O_0, O_1, ...), or one that is already weighted with the bits they stand for.
  virtual SumBytes weighted(std::span<const std::byte> sums, const Windows& windows, unsigned first,
                            unsigned each) const = 0;
  virtual SumBytes infinity() const = 0;
  virtual SumBytes add(const SumBytes& a, const SumBytes& b) const = 0;
  virtual PlainPoint affine(const SumBytes& sum) const = 0;

  // Returns the sum of scalar i times point i by Pippenger's algorithm with unsigned digits and one
  // thread per window. It shares the field arithmetic with the above, and nothing with the kernels.
  virtual PlainPoint multiply(std::span<const std::byte> points, std::span<const Scalar> scalars,
                              unsigned threads) const = 0;
};

const HostPoints& host_points(Curve curve);

}  // namespace mgpu::msm
