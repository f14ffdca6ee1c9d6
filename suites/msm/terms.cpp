// Seeded terms and their memory.
#include "suites/msm/terms.hpp"

#include <algorithm>
#include <cstring>

#include "lib/base/error.hpp"
#include "lib/workload/parallel_for.hpp"
#include "lib/workload/splitmix64.hpp"

namespace mgpu::msm {
namespace {

// Returns a scalar uniform below the order by rejection. An attempt fails with probability 0.24
// (BN254) or 0.09, so the attempts never reach 2^16.
Scalar uniform(std::uint64_t seed, std::uint64_t n, const Scalar& order, unsigned order_bits) {
  for (std::uint64_t attempt = 0;; ++attempt) {
    Scalar s;
    for (std::size_t k = 0; k < 4; ++k) s[k] = splitmix64(seed, (n << 16 | attempt) * 4 + k);
    s[3] &= ~std::uint64_t{0} >> (256 - order_bits);
    if (less(s, order)) return s;
  }
}

}  // namespace

Terms::Terms(Curve curve, std::uint64_t count, std::uint64_t sums, unsigned threads)
    : curve_(curve),
      count_(count),
      sums_(sums),
      points_size_(
          in_pages(std::min(bytes_of_terms(curve, count, sums), count * affine_bytes(curve)))),
      pages_(points_size_ + all_scalars() * sizeof(Scalar), std::to_string(count) + " terms") {
  constexpr Bytes at_once = Bytes{1} << 22;
  const Bytes size = memory().size();
  parallel_for(ceil_div(size, at_once), threads, [&](std::uint64_t i) {
    std::memset(pages_.data() + i * at_once, 0, std::min(at_once, size - i * at_once));
  });
}

Terms Terms::seeded(Curve curve, std::uint64_t count, Scalars scalars, std::uint64_t seed,
                    unsigned threads, std::uint64_t sums) {
  Terms terms(curve, count, sums, threads);
  const Scalar order = order_of(curve);
  const unsigned bits = order_bits_of(curve);
  const std::uint64_t point_seed = splitmix64(seed, 0), scalar_seed = splitmix64(seed, 1);
  terms.logs_ = KnownLogs{uniform(point_seed, 0, order, bits), uniform(point_seed, 1, order, bits)};
  terms.points_missing_ = true;
  constexpr std::uint64_t block = 4096;
  const std::span<Scalar> all = terms.scalars();
  const auto fill = [&](std::uint64_t i) {
    const std::uint64_t kind = splitmix64(~scalar_seed, i);
    all[i] = uniform(scalar_seed, scalars == Scalars::equal ? i / count : i, order, bits);
    if (scalars != Scalars::witness || kind % 4 == 3) return;
    all[i] = {kind % 4 == 2 ? kind >> 48 : kind % 4, 0, 0, 0};
  };
  parallel_for(all.size(), threads, fill, block);
  return terms;
}

Terms Terms::random(Curve curve, std::uint64_t count, Scalars scalars, std::uint64_t seed,
                    unsigned threads, std::uint64_t sums) {
  Terms terms = seeded(curve, count, scalars, seed, threads, sums);
  terms.make_points(threads);
  return terms;
}

void Terms::make_points(unsigned threads) {
  if (!points_missing_) return;
  points_missing_ = false;
  host_points(curve_).multiples({pages_.data(), count_ * affine_bytes(curve_)}, logs_->first,
                                logs_->step, threads);
}

void Terms::take_scalars(std::vector<Scalar> given) {
  const Scalar order = order_of(curve_);
  bool reduced = false;
  for (std::uint64_t i = 0; i < count_; ++i) {
    Scalar s = given[i];
    std::uint64_t borrow = 0;
    while (!less(s, order))
      s = subtract(s, order, borrow);  // 2^256 is less than six times the smaller order
    scalars()[i] = s;
    reduced = reduced || s != given[i];
  }
  given_ = reduced ? std::move(given) : std::vector<Scalar>{};
}

std::span<const std::byte> Terms::point_bytes(std::uint64_t begin, std::uint64_t end) const {
  return memory().subspan(begin * affine_bytes(curve_), (end - begin) * affine_bytes(curve_));
}

std::span<const std::byte> Terms::scalar_bytes(std::uint64_t begin, std::uint64_t end) const {
  return memory().subspan(points_size_ + begin * sizeof(Scalar), (end - begin) * sizeof(Scalar));
}

Bytes bytes_of_terms(Curve curve, std::uint64_t count, std::uint64_t sums) {
  // Up to this limit, no sum of buffers and paddings overflows.
  constexpr std::uint64_t limit = std::uint64_t{1} << 40;
  if (count > limit)
    throw Error(ErrorKind::usage, "--size: at most 2^40 terms, not " + std::to_string(count));
  if (count > 0 && sums > limit / count)
    throw Error(ErrorKind::usage, "--batch: at most 2^40 terms in all, not " +
                                      std::to_string(sums) + " sums of " + std::to_string(count));
  return count * (affine_bytes(curve) + sums * sizeof(Scalar));
}

}  // namespace mgpu::msm
