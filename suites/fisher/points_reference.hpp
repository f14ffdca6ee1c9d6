// The independent reference of the matrices of many points, on the host. Closed forms are by
// suites/fisher/closed_reference.hpp. For models, the same random words are drawn by a separate
// Philox and turned into scores in float64 with the C library's functions. It shares no code with
// the kernels.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "suites/fisher/closed_reference.hpp"

namespace mgpu::fisher {

class PointsReference {
 public:
  PointsReference(const Problem& problem, std::span<const std::byte> input)
      : problem_(problem), input_(input) {}

  double seconds_a_point() const;  // rough estimate for one core

  // Compares the upper half of a point's matrix with what matrix() allows; `got` returns its
  // element `place`. Differences up to the smallest normal number of the precision are right.
  // Returns what differs, or an empty text.
  std::string check(std::uint64_t point,
                    const std::function<double(std::uint64_t place)>& got) const;

  ReferenceMatrix matrix(std::uint64_t point) const;

 private:
  std::vector<double> parameters_of(std::uint64_t point) const;
  ReferenceMatrix categorical(std::uint64_t point, const std::vector<double>& theta) const;
  ReferenceMatrix from_scores(std::uint64_t point, const std::vector<double>& theta) const;

  const Problem& problem_;
  std::span<const std::byte> input_;
};

// Returns seven rounds of Philox4x32, as kernels/fisher_random.cl draws them.
std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                    std::array<std::uint32_t, 2> key);

}  // namespace mgpu::fisher
