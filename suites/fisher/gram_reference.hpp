// The independent reference of empirical Fisher matrices, on the host in float64 or exact integers,
// by the textbook formulas: rows x of scores: (1/n) sum x x^T; logistic: (1/n) sum p (1 - p) x x^T;
// softmax: (1/n) sum (diag p - p p^T) (x) x x^T. Shares no code with the kernels.
#pragma once

#include <vector>

#include "suites/fisher/host_data.hpp"

namespace mgpu::fisher {

class GramReference {
 public:
  // `problem` and `data` outlive it. Nothing is computed before it is asked for.
  GramReference(const Problem& problem, const HostData& data, unsigned threads)
      : problem_(problem), data_(data), threads_(threads) {}

  static Bytes bytes(const Problem& problem);  // host memory it may take

  // `f` is dim x dim. Sample: whole rows of F. Full: all of F times a vector too (Freivalds,
  // Probabilistic machines can use less running time, 1977): modulo 2^64 with a random vector of
  // 64-bit words when all input are integers and no sum can be rounded, so that an error of 2^v
  // escapes with probability 2^(v-64); else with random signs, within what rounding may do.
  Verdict check(std::span<const double> f, VerifyLevel level, std::uint64_t seed);

 private:
  struct Row;  // of the input, with the weights of its classes
  void classify();
  template <class Body>
  void for_rows(std::uint64_t first, std::uint64_t end, const Body& body) const;
  std::string check_rows(std::span<const double> f, std::uint64_t seed, std::string& method) const;
  std::string check_signs(std::span<const double> f, std::uint64_t seed, std::string& method) const;
  std::string check_words(std::span<const double> f, std::uint64_t seed, std::string& method) const;
  std::string differs(double got, double expected, double magnitude, std::uint64_t i,
                      std::uint64_t j) const;
  double value(std::uint64_t row, std::uint64_t column) const;

  const Problem& problem_;
  const HostData& data_;
  unsigned threads_;
  bool classified_ = false, finite_ = true, exact_ = false;
  double relative_ = 0;  // how far off an element may be, in units of its magnitudes' sum
};

}  // namespace mgpu::fisher
