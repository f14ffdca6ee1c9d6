// The independent reference, on the host in float64 or exact integers. Shares no code with the
// kernels.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "suites/matrix/rounded_check.hpp"

namespace mgpu::matrix {

class Reference {
 public:
  // `operands` and `problem` outlive it. Nothing is computed before it is asked for.
  Reference(const Problem& problem, const Operands& operands, unsigned threads)
      : problem_(problem), operands_(operands), threads_(threads) {}

  // A device of the run may take fp32 numbers below the smallest normal one for zero. Before
  // anything is checked.
  void allow_flushing() { flushed_ = true; }

  struct Finding {
    std::string method;   // what was compared
    std::string message;  // what differs; empty: nothing
  };
  // Whole rows and the corners of tiles, element by element against float64 dot products.
  Finding check_sample(std::uint64_t seed);
  // All of C times a vector against A (B x). When all operands are integers and no sum can be
  // rounded, modulo 2^64 with a random vector of 64-bit words: a row with an odd error escapes with
  // probability 2^-64, one whose errors are multiples of 2^v with 2^(v-64) (Freivalds,
  // Probabilistic machines can use less running time, 1977). Otherwise as RoundedCheck does.
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
  // The vector, and what C times it should be; of one seed, kept for all samples, as are the
  // others.
  std::vector<std::uint64_t> words_, expected_words_;
  std::optional<RoundedCheck<float>> rounded_fp32_;
  std::optional<RoundedCheck<double>> rounded_fp64_;
};

}  // namespace mgpu::matrix
