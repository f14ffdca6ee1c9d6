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

// Terms in one block of pages, so that they can be pinned in place.
class Terms {
 public:
  Terms(Curve curve, std::uint64_t count);  // points at infinity, scalars 0
  // Makes terms that depend only on the seed and their index. The scalars are uniform below r, a
  // mix typical of witnesses (a quarter each 0, 1, below 2^16, uniform), or the same for all terms.
  // The points are known by their logarithms; make_points or a device makes them.
  static Terms seeded(Curve curve, std::uint64_t count, Scalars scalars, std::uint64_t seed,
                      unsigned threads);
  static Terms random(Curve curve, std::uint64_t count, Scalars scalars, std::uint64_t seed,
                      unsigned threads);  // makes the points, too
  // Makes the points of seeded terms, at the first call only; about 0.4 us per point and thread.
  void make_points(unsigned threads);
  // Takes one scalar below 2^256 per term; scalars() become these modulo r.
  void take_scalars(std::vector<Scalar> given);

  Curve curve() const { return curve_; }
  std::uint64_t count() const { return count_; }
  const std::optional<KnownLogs>& logs() const { return logs_; }

  std::span<const std::byte> memory() const {
    return {pages_.data(), points_size_ + count_ * sizeof(Scalar)};
  }
  std::span<const std::byte> point_bytes(std::uint64_t begin,
                                         std::uint64_t end) const;  // format of HostPoints
  std::span<const std::byte> scalar_bytes(
      std::uint64_t begin, std::uint64_t end) const;  // below r, least significant byte first
  std::span<const Scalar> scalars() const { return {scalar_data(), count_}; }
  // Returns the scalars before their reduction.
  std::span<const Scalar> given_scalars() const { return given_.empty() ? scalars() : given_; }
  std::span<std::byte> point(std::uint64_t i) {
    return {pages_.data() + i * affine_bytes(curve_), affine_bytes(curve_)};
  }
  std::span<Scalar> scalars() { return {scalar_data(), count_}; }

 private:
  Scalar* scalar_data() const { return reinterpret_cast<Scalar*>(pages_.data() + points_size_); }

  Curve curve_;
  std::uint64_t count_;
  Bytes points_size_;
  Pages pages_;
  std::optional<KnownLogs> logs_;
  bool points_missing_ = false;
  std::vector<Scalar> given_;  // empty: no scalar was reduced
};

// Returns the host memory of `count` terms. Throws Error(usage) above 2^40.
Bytes bytes_of_terms(Curve curve, std::uint64_t count);

}  // namespace mgpu::msm
