// Test which points of a curve are in its subgroup of order r. On BN254 all points are, so nothing
// is computed.
#pragma once

#include <algorithm>
#include <atomic>
#include <optional>
#include <vector>

#include "lib/workload/parallel_for.hpp"
#include "lib/workload/splitmix64.hpp"
#include "suites/msm/point.hpp"

namespace mgpu::msm {

// Tests a point of BLS12-381 exactly: phi(P) = -[u^2] P with phi(x, y) = (beta x, y). M. Scott, "A
// note on group membership tests for G1, G2 and GT on BLS pairing-friendly curves",
// https://eprint.iacr.org/2021/1130, section 4; EIP-2537 names the same test. Points of the
// subgroup satisfy it by the choice of beta. Since phi^2(P) + phi(P) + P is infinity for every
// point, a point that satisfies it also satisfies [u^4 - u^2 + 1] P = [r] P = infinity. It takes
// 126 doublings and 10 additions, while [r] P takes 254 and about 127; 0.23 ms on a slow core.
template <class C>
bool in_subgroup(const Sum<C>& p) {
  if constexpr (C::whole_curve) {
    return true;
  } else {
    if (p.infinity()) return true;
    const auto times_u = [](const Sum<C>& a) {
      Sum<C> product = a;
      for (unsigned i = 63; i-- > 0;) {
        product = product.doubled();
        if ((C::minus_u >> i & 1) != 0) product = product + a;
      }
      return product;
    };
    const Sum<C> q = times_u(times_u(p));
    const Fp<C> phi_x = Fp<C>::from_plain(C::beta) * p.x;
    return !q.infinity() && q.x * p.zz == phi_x * q.zz && -q.y * p.zzz == p.y * q.zzz;
  }
}

// Finds the first of `count` points that is outside of the subgroup, or one of several. `point(i)`
// returns an Affine<C> on the curve and is called from `threads` threads. The test is exact below
// 2^13 points; 2^18 points take 4.6 s on that core, exact they would take 60.
//
// From 2^13 points on, it first adds the points at random into 1024 buckets, six times, and tests
// the buckets. Sums of points of the subgroup are in the subgroup. For a point outside, fix the
// buckets of all other points: then at most one choice of its bucket leaves every sum in the
// subgroup. So each of the six times misses it with a probability of at most 2^-10, together 2^-60.
// This holds for any points, since the choice of buckets does not depend on the file. If a bucket
// is outside, its points are tested one by one. They include the first point outside unless it
// cancels out with others.
template <class C, class PointAt>
class SubgroupTest {
 public:
  SubgroupTest(std::uint64_t count, const PointAt& point, unsigned threads, std::uint64_t seed)
      : count_(count), point_(point), threads_(threads), seed_(seed) {}

  std::optional<std::uint64_t> first_outside() const {
    if constexpr (C::whole_curve) return std::nullopt;
    if (count_ < batch_from) return first_outside_of([](std::uint64_t) { return true; });
    const std::vector<char> outside = buckets_outside();
    if (std::find(outside.begin(), outside.end(), 1) == outside.end()) return std::nullopt;
    return first_outside_of([&](std::uint64_t i) {
      for (unsigned round = 0; round < rounds; ++round) {
        if (outside[bucket(i, round)] != 0) return true;
      }
      return false;
    });
  }

 private:
  static constexpr std::uint64_t batch_from = std::uint64_t{1} << 13;
  static constexpr unsigned rounds = 6, bits = 10;
  static constexpr std::size_t buckets = std::size_t{rounds} << bits;

  static Sum<C> as_sum(const Affine<C>& p) { return Sum<C>{} + p; }

  std::size_t bucket(std::uint64_t i, unsigned round) const {
    return (std::size_t{round} << bits) +
           (splitmix64(seed_, i) >> (round * bits) & ((1u << bits) - 1));
  }

  // Returns 1 for each bucket of all rounds whose sum is outside.
  std::vector<char> buckets_outside() const {
    const std::uint64_t parts = std::max(1u, threads_);
    std::vector<Sum<C>> sums(parts * buckets);
    parallel_for(parts, threads_, [&](std::uint64_t part) {
      Sum<C>* const mine = sums.data() + part * buckets;
      for (std::uint64_t i = count_ / parts * part;
           i < (part + 1 < parts ? count_ / parts * (part + 1) : count_); ++i) {
        const Affine<C> p = point_(i);
        for (unsigned round = 0; round < rounds; ++round)
          mine[bucket(i, round)] = mine[bucket(i, round)] + p;
      }
    });
    std::vector<char> outside(buckets);
    parallel_for(buckets, threads_, [&](std::uint64_t b) {
      Sum<C> sum;
      for (std::uint64_t part = 0; part < parts; ++part) sum = sum + sums[part * buckets + b];
      outside[b] = in_subgroup(sum) ? 0 : 1;
    });
    return outside;
  }

  template <class Candidate>
  std::optional<std::uint64_t> first_outside_of(const Candidate& candidate) const {
    constexpr std::uint64_t block = 256;
    std::atomic<std::uint64_t> first{count_};
    parallel_for(ceil_div(count_, block), threads_, [&](std::uint64_t b) {
      for (std::uint64_t i = b * block; i < std::min({count_, (b + 1) * block, first.load()});
           ++i) {
        if (!candidate(i) || in_subgroup(as_sum(point_(i)))) continue;
        for (std::uint64_t known = first; i < known && !first.compare_exchange_weak(known, i);) {
        }
        return;
      }
    });
    if (first == count_) return std::nullopt;
    return first.load();
  }

  std::uint64_t count_;
  const PointAt& point_;
  unsigned threads_;
  std::uint64_t seed_;
};

}  // namespace mgpu::msm
