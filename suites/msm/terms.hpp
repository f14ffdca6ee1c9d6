// The terms of a problem in host memory: points and scalars. terms_file.hpp reads those of files.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "lib/workload/pages.hpp"
#include "suites/msm/host_points.hpp"

namespace mgpu::msm {

enum class Scalars { uniform, witness, equal };
constexpr std::array<std::string_view, 3> scalar_names{"uniform", "witness", "equal"};

// Logarithms of the points: point i is (first + i * step) times the generator.
struct KnownLogs {
  Scalar first{}, step{};
};

// The terms of one sum, or of several over the same points, each with scalars of its own. They are
// in one block of pages, so that they can be pinned in place.
class Terms {
 public:
  // Makes `count` points at infinity, and as many scalars 0 for each sum.
  Terms(Curve curve, std::uint64_t count, std::uint64_t sums = 1, unsigned threads = 1);
  // Makes terms that depend only on the seed and their index. The scalars are uniform below r, a
  // mix typical of witnesses (a quarter each 0, 1, below 2^16, uniform), or the same for all terms
  // of a sum. The first sum is the same whatever the number of sums. The points are known by their
  // logarithms; make_points or a device makes them.
  static Terms seeded(Curve curve, std::uint64_t count, Scalars scalars, std::uint64_t seed,
                      unsigned threads, std::uint64_t sums = 1);
  static Terms random(Curve curve, std::uint64_t count, Scalars scalars, std::uint64_t seed,
                      unsigned threads, std::uint64_t sums = 1);  // makes the points, too
  // Makes the points of seeded terms, at the first call only; about 0.4 us per point and thread.
  void make_points(unsigned threads);
  // Takes one scalar below 2^256 per term of the only sum; scalars() become these modulo r.
  void take_scalars(std::vector<Scalar> given);

  Curve curve() const { return curve_; }
  std::uint64_t count() const { return count_; }  // of each sum
  std::uint64_t sums() const { return sums_; }
  const std::optional<KnownLogs>& logs() const { return logs_; }

  std::span<const std::byte> memory() const {
    return {pages_.data(), points_size_ + all_scalars() * sizeof(Scalar)};
  }
  std::span<const std::byte> point_bytes(std::uint64_t begin,
                                         std::uint64_t end) const;  // format of HostPoints
  // Returns scalars, below r and least significant byte first; those of sum i begin at i * count().
  std::span<const std::byte> scalar_bytes(std::uint64_t begin, std::uint64_t end) const;
  std::span<const Scalar> scalars() const { return {scalar_data(), all_scalars()}; }
  // Returns the scalars before their reduction.
  std::span<const Scalar> given_scalars() const { return given_.empty() ? scalars() : given_; }
  std::span<std::byte> point(std::uint64_t i) {
    return {pages_.data() + i * affine_bytes(curve_), affine_bytes(curve_)};
  }
  std::span<Scalar> scalars() { return {scalar_data(), all_scalars()}; }

 private:
  std::uint64_t all_scalars() const { return count_ * sums_; }
  Scalar* scalar_data() const { return reinterpret_cast<Scalar*>(pages_.data() + points_size_); }

  Curve curve_;
  std::uint64_t count_, sums_;
  Bytes points_size_;
  Pages pages_;
  std::optional<KnownLogs> logs_;
  bool points_missing_ = false;
  std::vector<Scalar> given_;  // empty: no scalar was reduced
};

// Returns the host memory of that many sums of `count` terms each. Throws Error(usage) above 2^40
// terms.
Bytes bytes_of_terms(Curve curve, std::uint64_t count, std::uint64_t sums = 1);

}  // namespace mgpu::msm
