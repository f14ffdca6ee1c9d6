// Making terms from a seed, and their memory.
#include "suites/msm/terms.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "lib/base/error.hpp"
#include "lib/workload/parallel_for.hpp"

namespace mgpu::msm {
namespace {

constexpr std::size_t page = 4096;

// Number n of the SplitMix64 sequence (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014) from
// `seed`.
std::uint64_t splitmix64(std::uint64_t seed, std::uint64_t n) {
  std::uint64_t z = seed + (n + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

// Uniform below the order, by rejection: an attempt fails with probability 0.24 (BN254) or 0.09, 2^16 of them never.
Scalar uniform(std::uint64_t seed, std::uint64_t n, const Scalar& order, unsigned order_bits) {
  for (std::uint64_t attempt = 0;; ++attempt) {
    Scalar s;
    for (std::size_t k = 0; k < 4; ++k) s[k] = splitmix64(seed, (n << 16 | attempt) * 4 + k);
    s[3] &= ~std::uint64_t{0} >> (256 - order_bits);
    if (less(s, order)) return s;
  }
}

}  // namespace

void Terms::Free::operator()(std::byte* p) const { std::free(p); }

Terms::Terms(Curve curve, std::uint64_t count)
    : curve_(curve), count_(count), points_size_((count * affine_bytes(curve) + page - 1) / page * page) {
  bytes_of_terms(curve, count);
  const std::size_t size = std::max(page, points_size_ + (count * sizeof(Scalar) + page - 1) / page * page);
  data_.reset(static_cast<std::byte*>(std::aligned_alloc(page, size)));
  if (!data_) throw Error(ErrorKind::out_of_memory, "no host memory for " + std::to_string(count) + " terms");
  std::memset(data_.get(), 0, size);
}

Terms Terms::random(Curve curve, std::uint64_t count, Scalars scalars, std::uint64_t seed, unsigned threads) {
  Terms terms(curve, count);
  const Scalar order = order_of(curve);
  const unsigned bits = order_bits_of(curve);
  const std::uint64_t point_seed = splitmix64(seed, 0), scalar_seed = splitmix64(seed, 1);
  terms.logs_ = KnownLogs{uniform(point_seed, 0, order, bits), uniform(point_seed, 1, order, bits)};
  host_points(curve).multiples({terms.data_.get(), count * affine_bytes(curve)}, terms.logs_->first, terms.logs_->step, threads);
  constexpr std::uint64_t block = 4096;
  const std::span<Scalar> all = terms.scalars();
  parallel_for((count + block - 1) / block, threads, [&](std::uint64_t b) {
    for (std::uint64_t i = b * block; i < std::min(count, (b + 1) * block); ++i) {
      const std::uint64_t kind = splitmix64(~scalar_seed, i);
      all[i] = uniform(scalar_seed, scalars == Scalars::equal ? 0 : i, order, bits);
      if (scalars != Scalars::witness || kind % 4 == 3) continue;
      all[i] = {kind % 4 == 2 ? kind >> 48 : kind % 4, 0, 0, 0};
    }
  });
  return terms;
}

std::span<const std::byte> Terms::point_bytes(std::uint64_t begin, std::uint64_t end) const {
  return memory().subspan(begin * affine_bytes(curve_), (end - begin) * affine_bytes(curve_));
}

std::span<const std::byte> Terms::scalar_bytes(std::uint64_t begin, std::uint64_t end) const {
  return memory().subspan(points_size_ + begin * sizeof(Scalar), (end - begin) * sizeof(Scalar));
}

Bytes bytes_of_terms(Curve curve, std::uint64_t count) {
  constexpr std::uint64_t limit = std::uint64_t{1} << 40;  // no sum of buffers and paddings overflows
  if (count > limit) throw Error(ErrorKind::usage, "--size: at most 2^40 terms, not " + std::to_string(count));
  return count * (affine_bytes(curve) + sizeof(Scalar));
}

}  // namespace mgpu::msm
