// Rank tests of whether two sets of measurements differ or it is chance, and their correction for
// multiple comparisons. Pure. lib/base/bootstrap.hpp estimates how large a difference is.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace mgpu {

enum class TestMethod {
  mann_whitney_exact,
  mann_whitney_normal,
  signed_rank_exact,
  signed_rank_normal,
  student_log,
  student_runs
};
const char* to_string(TestMethod method);

struct TestResult {
  TestMethod method;
  double statistic = 0;  // U of the first set; sum of ranks of positive differences; Student's t
  double p = 1;          // two-sided; 1: no evidence
};

// Tests whether values of one set are larger than those of the other (Mann and Whitney, Ann. Math.
// Stat. 18, 1947). Exact up to 20 values per side if no two are equal; else the normal
// approximation with corrections for ties and for continuity. Neither side may be empty.
TestResult mann_whitney(std::span<const double> first, std::span<const double> second);

// Tests whether differences of pairs are more often, and by more, of one sign (Wilcoxon, Biometrics
// Bulletin 1, 1945). For interleaved measurements, whose drift is common to both of a pair. Ignores
// differences of zero. Exact up to 50 differences if none is zero and no two sizes are equal; else
// the normal approximation, corrected as above.
TestResult signed_rank(std::span<const double> differences);

// Tests whether the means of the logarithms differ (Student, Biometrika 6, 1908), for sets that are
// too small for ranks: its p falls with the difference, not only with the number of values. Takes
// the spread of both sides, which may be one value on one side, as the same. Needs 3 values in all,
// which are positive.
TestResult student_log(std::span<const double> first, std::span<const double> second);

// Tests with Student's t whether a difference is more than its spread, the standard error of which
// has so many degrees of freedom, explains.
TestResult student_runs(double difference, double spread, double freedom);
// Returns the t that is exceeded, on either side, with probability p.
double student_quantile(double p, double freedom);

// Return the least p that the tests of ranks can give: below 4 values per side no result can be
// significant at 5 %.
double least_mann_whitney_p(std::size_t first, std::size_t second);
double least_signed_rank_p(std::size_t pairs);

// Returns the p values adjusted so that the chance of any false alarm among all of them stays below
// the level that each is compared with, in the order given (Holm, Scand. J. Stat. 6, 1979).
std::vector<double> holm(std::span<const double> p);

}  // namespace mgpu
