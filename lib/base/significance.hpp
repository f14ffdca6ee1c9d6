// Do two sets of measurements differ, or is it chance? Rank tests and their correction for many at
// once: pure functions. How large a difference is: lib/base/bootstrap.hpp.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace mgpu {

enum class TestMethod {
  mann_whitney_exact,
  mann_whitney_normal,
  signed_rank_exact,
  signed_rank_normal
};
const char* to_string(TestMethod method);

struct TestResult {
  TestMethod method;
  double statistic = 0;  // U of the first set; the sum of the ranks of positive differences
  double p = 1;          // two-sided; 1 where nothing can be said
};

// Mann and Whitney, Ann. Math. Stat. 18 (1947): are values of one set larger than those of the
// other? Exact up to 20 values a side when no two are equal; else the normal approximation with the
// correction for ties and for continuity. No side may be empty.
TestResult mann_whitney(std::span<const double> first, std::span<const double> second);

// Wilcoxon, Biometrics Bulletin 1 (1945): are differences of pairs more often, and by more, of one
// sign? For interleaved measurements, whose drift is common to both of a pair. Zero differences
// are left out. Exact up to 50 when no two sizes are equal; else normal, corrected as above.
TestResult signed_rank(std::span<const double> differences);

// The least p these tests can give: below 4 and 4 values no result can be significant at 5 %.
double least_mann_whitney_p(std::size_t first, std::size_t second);
double least_signed_rank_p(std::size_t pairs);

// Holm, Scand. J. Stat. 6 (1979): p values adjusted so that the chance of any false alarm among all
// of them stays below the level each is compared with. In the order given.
std::vector<double> holm(std::span<const double> p);

}  // namespace mgpu
