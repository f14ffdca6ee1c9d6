// The independent reference, on the host in float64 or exact integers. Shares no code with the kernels.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "suites/matrix/operands.hpp"
#include "suites/matrix/problem.hpp"

namespace mgpu::matrix {

class Reference {
 public:
  // `operands` and `problem` outlive it. Nothing is computed before it is asked for.
  Reference(const Problem& problem, const Operands& operands, unsigned threads)
      : problem_(problem), operands_(operands), threads_(threads) {}

  struct Finding {
    std::string method;   // what was compared
    std::string message;  // what differs; empty: nothing
  };
  // Whole rows and the corners of tiles, element by element against float64 dot products.
  Finding check_sample(std::uint64_t seed);
  // All of C times a vector against A (B x). When all operands are integers and no sum can be rounded, modulo 2^64 with a random
  // vector of 64-bit words: a row with an odd error escapes with probability 2^-64, one whose errors are multiples of 2^v with
  // 2^(v-64). Otherwise in float64 with signs (Freivalds, Probabilistic machines can use less running time, 1977), within what
  // rounding may do.
  Finding check_all(std::uint64_t seed);

 private:
  template <class Real>
  Finding sample(std::uint64_t seed);
  template <class Real>
  Finding exact(std::uint64_t seed);
  template <class Real>
  Finding rounded(std::uint64_t seed);
  template <class Real>
  void corners(std::uint64_t seed, Finding& finding);
  template <class Real>
  void prepare_vector(std::uint64_t seed);
  template <class Real>
  void classify();
  Finding verdict_of_rows(const std::vector<char>& wrong, const std::string& method, const std::string& by) const;

  const Problem& problem_;
  const Operands& operands_;
  unsigned threads_;
  bool classified_ = false, finite_ = true, exact_ = false;
  // The vector, what C times it should be, and how far off that may be; of one seed, kept for all samples.
  std::vector<std::uint64_t> words_, expected_words_;
  std::vector<double> vector_, expected_, allowed_;
};

}  // namespace mgpu::matrix
