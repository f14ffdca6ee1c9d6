#include "suites/geometric/reference.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "lib/workload/parallel_for.hpp"
#include "suites/common/number_text.hpp"

namespace mgpu::geometric {
namespace {

// Returns the sign of one blade times another, 0 if a null vector is in both. Each vector of the
// second passes those of the first that come after it, then equal ones meet (Dorst, Fontijne, Mann:
// Geometric algebra for computer science, 2007, chapter 19).
int sign_of(const Signature& signature, unsigned left, unsigned right) {
  unsigned swaps = 0;
  for (unsigned rest = left >> 1; rest != 0; rest >>= 1)
    swaps += static_cast<unsigned>(std::popcount(rest & right));
  int sign = swaps % 2 == 0 ? 1 : -1;
  for (unsigned vector = 0; vector < signature.vectors(); ++vector) {
    if ((left & right & (1u << vector)) == 0) continue;
    if (vector >= signature.positive + signature.negative) return 0;
    if (vector >= signature.positive) sign = -sign;
  }
  return sign;
}

bool counts(Operation operation, unsigned left, unsigned right) {
  const int l = std::popcount(left), r = std::popcount(right), common = std::popcount(left & right);
  if (operation == Operation::outer) return common == 0;
  // All vectors of the left blade must be in the right one.
  if (operation == Operation::left_contraction) return (left & ~right) == 0;
  return operation != Operation::inner || common == std::min(l, r);
}

// Neighbouring multivectors are checked at once, so that vector instructions can be used.
constexpr std::size_t lanes = 8;
template <class Wide>
using Lanes = std::array<Wide, lanes>;

template <class Wide>
struct Multivectors {
  explicit Multivectors(std::size_t components) : value(components), magnitude(components) {}
  std::vector<Lanes<Wide>> value, magnitude;  // by component: the sum, and the sum of magnitudes
};

template <class Real, class Wide>
class Check {
 public:
  Check(const Problem& problem, std::span<const std::byte> a, std::span<const std::byte> b,
        std::span<const std::byte> c)
      : problem_(problem),
        n_(problem.signature.components()),
        a_(at(a)),
        b_(at(b)),
        c_(at(c)),
        products_(n_) {
    for (unsigned i = 0; i < n_; ++i) {
      for (unsigned j = 0; j < n_; ++j) {
        const int sign = counts(problem.operation, i, j) ? sign_of(problem.signature, i, j) : 0;
        if (sign != 0) products_[i ^ j].push_back({i, j, static_cast<Wide>(sign)});
      }
    }
  }

  // Memory of a thread: allocating it for each multivector takes longer than their product.
  struct Scratch {
    explicit Scratch(std::size_t components)
        : left(components), right(components), product(components), expected(components) {}
    Multivectors<Wide> left, right, product, expected;
  };
  Scratch scratch() const { return Scratch(n_); }

  // Checks multivectors first .. first + lanes - 1, as far as there are so many.
  std::string what_is_wrong(std::uint64_t first, Scratch& scratch) const {
    auto& [left, right, once, expected] = scratch;
    const std::size_t count = std::min<std::uint64_t>(lanes, problem_.count - first);
    take(a_, first, count, false, left);
    take(b_, first, count, false, right);
    const bool sandwich = problem_.operation == Operation::sandwich;
    multiply(left, right, sandwich ? once : expected);
    if (sandwich) {
      take(a_, first, count, true, right);
      multiply(once, right, expected);
    }
    // A chain has n roundings; the sandwich is a product of products and has two chains.
    const Wide allowed =
        static_cast<Wide>((sandwich ? 2 : 1) * (n_ + 1)) * std::numeric_limits<Real>::epsilon() / 2;
    // Devices may take results below the smallest normal number for 0.
    const Wide smallest = static_cast<Wide>(std::numeric_limits<Real>::min()) * (2 * n_);
    for (std::size_t lane = 0; lane < count; ++lane) {
      for (unsigned k = 0; k < n_; ++k) {
        const Real got = c_[(first + lane) * n_ + k];
        const Wide error = std::abs(static_cast<Wide>(got) - expected.value[k][lane]);
        if (error <= allowed * expected.magnitude[k][lane] + smallest) continue;
        return "component " + std::to_string(k) + " of multivector " +
               std::to_string(first + lane) + " is " + number_text(got) + ", the reference says " +
               number_text(static_cast<Real>(expected.value[k][lane]));
      }
    }
    return "";
  }

 private:
  // Component `left` times component `right`, with this sign.
  struct Product {
    unsigned left, right;
    Wide sign;
  };

  static const Real* at(std::span<const std::byte> bytes) {
    return reinterpret_cast<const Real*>(bytes.data());
  }

  // Lanes from `count` on are left as they are.
  void take(const Real* from, std::uint64_t first, std::size_t count, bool reverse,
            Multivectors<Wide>& to) const {
    for (unsigned i = 0; i < n_; ++i) {
      const int g = std::popcount(i);
      const Wide sign = reverse && g * (g - 1) / 2 % 2 == 1 ? -1 : 1;
      for (std::size_t lane = 0; lane < count; ++lane) {
        const Wide x = from[(first + lane) * n_ + i];
        to.value[i][lane] = sign * x;
        to.magnitude[i][lane] = std::abs(x);
      }
    }
  }

  void multiply(const Multivectors<Wide>& left, const Multivectors<Wide>& right,
                Multivectors<Wide>& to) const {
    for (unsigned k = 0; k < n_; ++k) {
      Lanes<Wide> value{}, magnitude{};
      for (const Product& each : products_[k]) {
        const Lanes<Wide>&x = left.value[each.left], &y = right.value[each.right],
              &of_x = left.magnitude[each.left], &of_y = right.magnitude[each.right];
        for (std::size_t lane = 0; lane < lanes; ++lane) {
          value[lane] += each.sign * x[lane] * y[lane];
          magnitude[lane] += of_x[lane] * of_y[lane];
        }
      }
      to.value[k] = value;
      to.magnitude[k] = magnitude;
    }
  }

  const Problem& problem_;
  unsigned n_;
  const Real *a_, *b_, *c_;
  std::vector<std::vector<Product>> products_;  // by the component that they add up to
};

// Multivectors that a thread checks one after the other.
constexpr std::uint64_t at_once = 512;

// `starts`: the first multivectors of parts of at_once, or fewer at the end.
template <class Real, class Wide>
std::string first_wrong(const Problem& problem, std::span<const std::byte> a,
                        std::span<const std::byte> b, std::span<const std::byte> c,
                        const std::vector<std::uint64_t>& starts, unsigned threads) {
  const Check<Real, Wide> check(problem, a, b, c);
  std::vector<std::string> messages(starts.size());
  parallel_for(starts.size(), threads, [&](std::uint64_t part) {
    auto scratch = check.scratch();
    const std::uint64_t end = std::min(problem.count, starts[part] + at_once);
    for (std::uint64_t i = starts[part]; i < end && messages[part].empty(); i += lanes)
      messages[part] = check.what_is_wrong(i, scratch);
  });
  const auto wrong = std::find_if(messages.begin(), messages.end(),
                                  [](const std::string& message) { return !message.empty(); });
  return wrong == messages.end() ? "" : *wrong;
}

}  // namespace

Finding check(const Problem& problem, std::span<const std::byte> a, std::span<const std::byte> b,
              std::span<const std::byte> c, bool whole, std::uint64_t seed, unsigned threads) {
  if (problem.count == 0) return {"nothing to multiply", ""};
  const double n = problem.signature.components(),
               seconds_each = (problem.wide ? 3 : 1) * (2e-8 + 1e-9 * n * n);
  const auto most = static_cast<std::uint64_t>((whole ? 1.0 : 0.2) * threads / seconds_each);
  const bool all = problem.count <= std::max(most, 2 * at_once);
  // Places a part of a sample at random in each of as many equal ranges, the first at the beginning
  // and the last at the end.
  std::vector<std::uint64_t> starts(all ? ceil_div(problem.count, at_once)
                                        : std::max<std::uint64_t>(2, most / at_once));
  const std::uint64_t range = all ? at_once : problem.count / starts.size();
  std::mt19937_64 random(seed);
  for (std::uint64_t i = 0; i < starts.size(); ++i)
    starts[i] = i * range + random() % (range - at_once + 1);
  if (!all) starts.front() = 0, starts.back() = problem.count - at_once;
  return {(all ? std::string("all") : std::to_string(starts.size() * at_once)) +
              " multivectors in " + (problem.wide ? "80-bit floats" : "float64") +
              ", blades multiplied by bit arithmetic",
          problem.wide ? first_wrong<double, long double>(problem, a, b, c, starts, threads)
                       : first_wrong<float, double>(problem, a, b, c, starts, threads)};
}

}  // namespace mgpu::geometric
