// Cases of the self-test and their expected results.
#include "suites/msm/self_test.hpp"

#include <cstring>
#include <random>

#include "lib/base/error.hpp"
#include "suites/msm/host_points.hpp"
#include "suites/msm/point.hpp"

namespace mgpu::msm {
namespace {

constexpr char kernel_file[] = "msm_self_test.cl";
constexpr std::size_t random_values = 24;

template <std::size_t N>
std::vector<std::byte> bytes_of(const std::vector<Limbs<N>>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(Limbs<N>));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

// Returns all pairs of these values: the ends of the range, the modulus and its neighbours, limbs
// of ones, and random values below twice the modulus.
template <class C>
std::vector<std::byte> field_values() {
  using Value = Limbs<C::limbs>;
  Value one{}, ones{};
  one[0] = 1;
  ones.fill(~std::uint64_t{0});
  ones.back() = C::modulus.back();  // stays below 2p
  std::uint64_t ignored = 0;
  const Value twice = add(C::modulus, C::modulus, ignored);
  std::vector<Value> some{Value{},
                          one,
                          subtract(C::modulus, one, ignored),
                          C::modulus,
                          add(C::modulus, one, ignored),
                          subtract(twice, one, ignored),
                          ones,
                          Fp<C>::one().montgomery()};
  std::mt19937_64 random(1);
  for (std::size_t i = 0; i < random_values; ++i) {
    Value value;
    for (std::uint64_t& limb : value) limb = random();
    value.back() %= twice.back();
    some.push_back(value);
  }
  std::vector<Value> pairs;
  for (const Value& a : some) {
    for (const Value& b : some) pairs.insert(pairs.end(), {a, b});
  }
  return bytes_of(pairs);
}

// Multiples of the generator: four points per case, 0 for infinity. The cases have equal, opposite
// and missing points at every position.
constexpr int multiples[][4] = {{1, 2, 3, 4},   {1, 1, 2, 5},   {1, -1, 2, 3},  {1, 2, -1, -2},
                                {1, 2, 2, 1},   {0, 0, 0, 0},   {0, 1, 0, 0},   {1, 0, 0, 1},
                                {0, 0, 0, 7},   {3, 3, 3, 3},   {5, -5, 5, -5}, {9, -4, 4, -9},
                                {2, 2, -3, -1}, {-8, -8, 1, 1}, {6, 0, -6, 0},  {11, 13, -24, 0}};

template <class C>
Affine<C> multiple(int n) {
  const Affine<C> p =
      to_affine(times(generator<C>(), Scalar{static_cast<std::uint64_t>(n < 0 ? -n : n), 0, 0, 0}));
  return n < 0 ? -p : p;
}

template <class C>
std::vector<std::byte> test_points() {
  std::vector<Limbs<C::limbs>> coordinates;
  for (const auto& four : multiples) {
    for (const int n : four) {
      const Affine<C> p = multiple<C>(n);
      coordinates.insert(coordinates.end(), {p.x.montgomery(), p.y.montgomery()});
    }
  }
  return bytes_of(coordinates);
}

template <class C>
Fp<C> value_at(const std::vector<std::byte>& bytes, std::size_t i) {
  Limbs<C::limbs> limbs;
  std::memcpy(limbs.data(), bytes.data() + i * sizeof limbs, sizeof limbs);
  return Fp<C>::from_montgomery(Fp<C>::below_modulus(limbs));
}

[[noreturn]] void refuse(const std::string& what) {
  throw Error(ErrorKind::unsupported, "the self-test of its integer arithmetic failed: " + what +
                                          " is wrong, so nothing it computes can be trusted");
}

}  // namespace

SelfTest::SelfTest(Curve curve, DeviceResources& device, const std::string& options)
    : curve_(curve) {
  with_curve(curve, [&](auto c) {
    using C = decltype(c);
    values_ = field_values<C>();
    points_ = test_points<C>();
  });
  field_cases_ = values_.size() / (2 * field_bytes(curve));
  point_cases_ = points_.size() / (4 * affine_bytes(curve));
  field_answers_.resize(field_cases_ * 4 * field_bytes(curve));
  point_answers_.resize(point_cases_ * sum_bytes(curve));
  field_ = device.kernel(kernel_file, "test_field", options);
  sum_ = device.kernel(kernel_file, "test_points", options);
  values_buffer_ = device.allocate(values_.size());
  points_buffer_ = device.allocate(points_.size());
  field_buffer_ = device.allocate(field_answers_.size());
  sums_buffer_ = device.allocate(point_answers_.size());
}

void SelfTest::enqueue(Stream& stream) {
  stream.upload(*values_buffer_, 0, values_);
  stream.upload(*points_buffer_, 0, points_);
  stream.launch(*field_, grid_of(field_cases_, 1), {values_buffer_.get(), field_buffer_.get()});
  stream.launch(*sum_, grid_of(point_cases_, 1), {points_buffer_.get(), sums_buffer_.get()});
  stream.download(*field_buffer_, 0, field_answers_);
  stream.download(*sums_buffer_, 0, point_answers_);
}

void SelfTest::check() const {
  with_curve(curve_, [&](auto c) {
    using C = decltype(c);
    for (std::size_t i = 0; i < field_cases_; ++i) {
      const Fp<C> a = value_at<C>(values_, 2 * i), b = value_at<C>(values_, 2 * i + 1);
      const std::pair<const char*, Fp<C>> expected[] = {
          {"a product", a * b}, {"a square", a * a}, {"a sum", a + b}, {"a difference", a - b}};
      for (std::size_t k = 0; k < 4; ++k) {
        if (value_at<C>(field_answers_, 4 * i + k) != expected[k].second) refuse(expected[k].first);
      }
    }
    for (std::size_t i = 0; i < point_cases_; ++i) {
      Sum<C> sum;
      for (const int n : multiples[i]) sum = sum + multiple<C>(n);
      Sum<C> answer;
      answer.zz = value_at<C>(point_answers_, 4 * i + 2);
      if (!answer.infinity()) {
        answer = {value_at<C>(point_answers_, 4 * i), value_at<C>(point_answers_, 4 * i + 1),
                  answer.zz, value_at<C>(point_answers_, 4 * i + 3)};
      }
      if (to_affine(answer) != to_affine(sum)) refuse("a sum of points");
    }
  });
}

}  // namespace mgpu::msm
