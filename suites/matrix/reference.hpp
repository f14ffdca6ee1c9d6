// The independent reference, on the host in float64 or exact integers. It shares no code with the
// kernels.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "suites/matrix/rounded_check.hpp"

namespace mgpu::matrix {

class Reference {
 public:
  // `operands` and `problem` must outlive this. Nothing is computed before a check.
  Reference(const Problem& problem, const Operands& operands, unsigned threads)
      : problem_(problem), operands_(operands), threads_(threads) {}

  // Notes that a device of the run may treat fp32 numbers below the smallest normal one as zero.
  // Called before any check.
  void allow_flushing() { flushed_ = true; }

  struct Finding {
    std::string method;   // what was compared
    std::string message;  // first difference; empty if there is none
  };
  // Checks whole rows and the corners of tiles, element by element against float64 dot products.
  Finding check_sample(std::uint64_t seed);
  // Checks all of C: C times a vector against A (B x). If all operands are integers and no sum can
  // be rounded, this is done modulo 2^64 with a random vector of 64-bit words. A row with an odd
  // error is missed with probability 2^-64, one whose errors are multiples of 2^v with 2^(v-64)
  // (Freivalds, Probabilistic machines can use less running time, 1977). Otherwise RoundedCheck is
  // used.
  Finding check_all(std::uint64_t seed);

 private:
  template <class Real>
  Finding sample(std::uint64_t seed);
  template <class Real>
  Finding exact(std::uint64_t seed);
  template <class Real>
  Finding rounded(std::optional<RoundedCheck<Real>>& check, std::uint64_t seed);
  template <class Real>
  void classify();

  const Problem& problem_;
  const Operands& operands_;
  unsigned threads_;
  bool flushed_ = false, classified_ = false, exact_ = false;
  // The random vector, and the expected value of C times it. These and the rounded checks are of
  // one seed, cached for all samples.
  std::vector<std::uint64_t> words_, expected_words_;
  std::optional<RoundedCheck<float>> rounded_fp32_;
  std::optional<RoundedCheck<double>> rounded_fp64_;
};

}  // namespace mgpu::matrix
