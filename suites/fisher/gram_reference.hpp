// The independent reference of empirical Fisher matrices, on the host in float64 or exact integers,
// by the textbook formulas. Scores are rows x: (1/n) sum x x^T; logistic: (1/n) sum p (1 - p) x
// x^T; softmax: (1/n) sum (diag p - p p^T) (x) x x^T. It shares no code with the kernels.
#pragma once

#include <vector>

#include "suites/fisher/host_data.hpp"

namespace mgpu::fisher {

class GramReference {
 public:
  // `problem` and `data` must outlive this. Nothing is computed before a check.
  GramReference(const Problem& problem, const HostData& data, unsigned threads)
      : problem_(problem), data_(data), threads_(threads) {}

  static Bytes bytes(const Problem& problem);  // host memory it may take

  // Checks `f`, which is dim x dim. Level sample checks whole rows of F. Level full also checks all
  // of F times a vector (Freivalds, Probabilistic machines can use less running time, 1977). If all
  // input are integers and no sum can be rounded, this is done modulo 2^64 with a random vector of
  // 64-bit words, and an error of 2^v is missed with probability 2^(v-64). Otherwise the vector has
  // random signs, and differences may be what rounding allows.
  Verdict check(std::span<const double> f, VerifyLevel level, std::uint64_t seed);

 private:
  struct Row;  // a row of the input, with the weights of its classes
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
  double relative_ = 0;  // error allowed in an element, relative to the sum of its magnitudes
};

}  // namespace mgpu::fisher
