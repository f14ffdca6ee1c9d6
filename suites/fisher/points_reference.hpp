// The independent reference of the matrices of many points, on the host: closed forms by
// suites/fisher/closed_reference.hpp, and for models, in float64, the same random words drawn by a
// Philox of its own, turned into scores with the C library's functions. Shares no code with the
// kernels.
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

  double seconds_a_point() const;  // roughly, on one core

  // Compares the upper half of a point's matrix, element `place` of which `got` returns, with what
  // matrix() allows; numbers below the smallest normal one of the precision to within that. Empty:
  // right, else what differs.
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

// Seven rounds of Philox4x32, as kernels/fisher_random.cl draws them.
std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                    std::array<std::uint32_t, 2> key);

}  // namespace mgpu::fisher
