// HostPoints of each curve.
#include "suites/msm/host_points.hpp"

#include <algorithm>
#include <cstring>
#include <random>

#include "lib/base/quote.hpp"
#include "lib/workload/parallel_for.hpp"
#include "suites/msm/subgroup.hpp"

namespace mgpu::msm {
namespace {

// Inverts all values at once (Montgomery's trick); zeros stay zero. `scratch` is as long as
// `values`.
template <class C>
void invert_all(std::span<Fp<C>> values, std::vector<Fp<C>>& scratch) {
  Fp<C> product = Fp<C>::one();
  for (std::size_t i = 0; i < values.size(); ++i) {
    scratch[i] = product;
    if (!values[i].zero()) product = product * values[i];
  }
  Fp<C> inverse = product.inverse();
  for (std::size_t i = values.size(); i-- > 0;) {
    if (values[i].zero()) continue;
    const Fp<C> next = inverse * values[i];
    values[i] = inverse * scratch[i];
    inverse = next;
  }
}

template <class C>
class CurvePoints final : public HostPoints {
 public:
  Curve curve() const override { return C::curve; }

  // Each block is an independent walk from its own multiple in steps of step times the generator.
  // Its points are made affine together.
  void multiples(std::span<std::byte> points, const Scalar& first, const Scalar& step,
                 unsigned threads) const override {
    constexpr std::uint64_t block = 1024;
    const std::uint64_t count = points.size() / affine_size;
    const Affine<C> stride = to_affine(times(generator<C>(), step));
    const Affine<C> origin = to_affine(times(generator<C>(), first));
    parallel_for(ceil_div(count, block), threads, [&](std::uint64_t b) {
      const std::uint64_t begin = b * block, end = std::min(count, begin + block);
      Sum<C> sum = times(stride, Scalar{begin, 0, 0, 0}) + origin;
      std::vector<Sum<C>> sums;
      std::vector<Fp<C>> inverses, scratch(end - begin);
      for (std::uint64_t i = begin; i < end; ++i) {
        sums.push_back(sum);
        inverses.push_back(sum.zzz);
        sum = sum + stride;
      }
      invert_all<C>(inverses, scratch);
      for (std::uint64_t i = begin; i < end; ++i) {
        const Sum<C>& s = sums[i - begin];
        const Fp<C> z = inverses[i - begin] * s.zz;
        store({s.x * z * z, s.y * inverses[i - begin]}, points.subspan(i * affine_size));
      }
    });
  }

  std::optional<std::string> parse(std::string_view x, std::string_view y,
                                   std::span<std::byte> point) const override {
    std::array<Plain, 2> values;
    for (std::size_t i = 0; i < 2; ++i) {
      const std::string_view text = i == 0 ? x : y;
      const auto value = parse_number<C::limbs>(text);
      if (!value) {
        return std::string(i == 0 ? "x " : "y ") + in_quotes(text) + " is not a number of up to " +
               std::to_string(8 * field_size) + " bits; expected: decimal, or hexadecimal with 0x";
      }
      values[i] = *value;
    }
    return store_checked(values, point);
  }

  std::optional<std::string> decode(std::span<const std::byte> encoded,
                                    std::span<std::byte> point) const override {
    const std::size_t half = encoded.size() / 2, padding = half - field_size;
    std::array<Plain, 2> values;
    for (std::size_t i = 0; i < 2; ++i) {
      const auto bytes = encoded.subspan(i * half, half);
      if (std::any_of(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(padding),
                      [](std::byte b) { return b != std::byte{0}; }))
        return std::string(i == 0 ? "x" : "y") + " does not begin with " + std::to_string(padding) +
               " zero bytes";
      values[i] = from_big_endian<C::limbs>(bytes.subspan(padding));
    }
    return store_checked(values, point);
  }

  std::optional<std::uint64_t> outside_subgroup(std::span<const std::byte> points,
                                                unsigned threads) const override {
    const auto point = [&](std::uint64_t i) {
      return load_affine(points.subspan(i * affine_size));
    };
    std::random_device random;  // unpredictable for the author of the points
    const std::uint64_t seed = std::uint64_t{random()} << 32 | random();
    return SubgroupTest<C, decltype(point)>(points.size() / affine_size, point, threads, seed)
        .first_outside();
  }

  PlainPoint plain(std::span<const std::byte> affine) const override {
    return text(load_affine(affine));
  }

  SumBytes weighted(std::span<const std::byte> sums, const Windows& windows, unsigned first,
                    unsigned each) const override {
    const auto at = [&](unsigned window, unsigned i) {
      return load(sums.subspan((std::size_t{window} * each + i) * sum_size));
    };
    Sum<C> sum;
    for (auto w = static_cast<unsigned>(sums.size() / (each * sum_size)); w-- > 0;) {
      const unsigned bits = windows.bits_of(first + w);
      for (unsigned bit = bits; bit-- > 0;) {
        sum = sum.doubled();
        if (bit + 1 < std::min(bits, each)) sum = sum + at(w, bit + 1);
        if (bit == 0) sum = sum + at(w, 0);
      }
    }
    for (unsigned i = 0; i < windows.first_bit(first); ++i) sum = sum.doubled();
    return store(sum);
  }

  SumBytes infinity() const override { return store(Sum<C>{}); }
  SumBytes add(const SumBytes& a, const SumBytes& b) const override {
    return store(load(a) + load(b));
  }
  PlainPoint affine(const SumBytes& sum) const override { return text(to_affine(load(sum))); }

  PlainPoint multiply(std::span<const std::byte> points, std::span<const Scalar> scalars,
                      unsigned threads) const override {
    unsigned bits = 1;  // near ln n: balances two additions per bucket and one per point
    while (bits < 16 && std::uint64_t{4} << bits << (bits / 4) < scalars.size()) ++bits;
    const unsigned windows = ceil_div(256, bits);
    std::vector<Sum<C>> window_sums(windows);
    parallel_for(windows, threads, [&](std::uint64_t w) {
      std::vector<Sum<C>> buckets(std::size_t{1} << bits);
      for (std::size_t i = 0; i < scalars.size(); ++i) {
        std::size_t digit = 0;
        for (unsigned b = bits; b-- > 0;) {
          const std::size_t place = w * bits + b;
          digit = digit * 2 + (place < 256 && bit(scalars[i], place) ? 1 : 0);
        }
        if (digit != 0)
          buckets[digit] = buckets[digit] + load_affine(points.subspan(i * affine_size));
      }
      Sum<C> running;
      for (std::size_t digit = buckets.size(); digit-- > 1;) {
        running = running + buckets[digit];
        window_sums[w] = window_sums[w] + running;
      }
    });
    Sum<C> sum;
    for (unsigned w = windows; w-- > 0;) {
      for (unsigned b = 0; b < bits; ++b) sum = sum.doubled();
      sum = sum + window_sums[w];
    }
    return text(to_affine(sum));
  }

 private:
  using Plain = typename Fp<C>::Plain;
  static constexpr std::size_t field_size = C::limbs * 8, affine_size = 2 * field_size,
                               sum_size = 4 * field_size;

  static std::optional<std::string> store_checked(const std::array<Plain, 2>& values,
                                                  std::span<std::byte> point) {
    for (std::size_t i = 0; i < 2; ++i) {
      if (!less(values[i], C::modulus)) {
        return std::string(i == 0 ? "x" : "y") + " = 0x" + to_hex(values[i]) +
               " is not below the modulus of the field, 0x" + to_hex(C::modulus);
      }
    }
    const Affine<C> p{Fp<C>::from_plain(values[0]), Fp<C>::from_plain(values[1])};
    if (!on_curve(p))
      return "the point is not on " + std::string(curve_names[static_cast<std::size_t>(C::curve)]);
    store(p, point);
    return std::nullopt;
  }

  static Fp<C> load_field(std::span<const std::byte> from) {
    typename Fp<C>::Plain limbs;
    std::memcpy(limbs.data(), from.data(), field_size);
    return Fp<C>::from_montgomery(Fp<C>::below_modulus(limbs));
  }
  static Affine<C> load_affine(std::span<const std::byte> from) {
    return {load_field(from), load_field(from.subspan(field_size))};
  }
  static void store(const Affine<C>& p, std::span<std::byte> to) {
    std::memcpy(to.data(), p.x.montgomery().data(), field_size);
    std::memcpy(to.data() + field_size, p.y.montgomery().data(), field_size);
  }
  static Sum<C> load(std::span<const std::byte> from) {
    const auto coordinate = [&](std::size_t i) { return load_field(from.subspan(i * field_size)); };
    // For infinity, a device leaves the other coordinates undefined.
    return coordinate(2).zero()
               ? Sum<C>{}
               : Sum<C>{coordinate(0), coordinate(1), coordinate(2), coordinate(3)};
  }
  static SumBytes store(const Sum<C>& s) {
    SumBytes bytes(sum_size);
    const Fp<C>* coordinates[] = {&s.x, &s.y, &s.zz, &s.zzz};
    for (std::size_t i = 0; i < 4; ++i)
      std::memcpy(bytes.data() + i * field_size, coordinates[i]->montgomery().data(), field_size);
    return bytes;
  }
  static PlainPoint text(const Affine<C>& p) { return {to_hex(p.x.plain()), to_hex(p.y.plain())}; }
};

}  // namespace

const HostPoints& host_points(Curve curve) {
  static const CurvePoints<Bn254> bn254;
  static const CurvePoints<Bls12381> bls12_381;
  if (curve == Curve::bn254) return bn254;
  return bls12_381;
}

}  // namespace mgpu::msm
