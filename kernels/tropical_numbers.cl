// Numbers of the tropical semirings, in which a sum is the smaller (MAXIMUM 1: the larger) of two
// numbers and a product is their sum.
//
// NOTHING is the zero of sums: no edge. In fp32 it is an infinity, to which numbers can be added.
// In int32 it is half of the largest number, so that no sum of two wraps around; with numbers up to
// 2^28, a sum that includes it is beyond LIMIT, and one that does not is not
// (suites/tropical/problem.hpp).
//
// Given by -D: INT32, MAXIMUM (0, 1); ORDERED (1: no sum is below zero, so that the bits of fp32
// numbers, and of the infinity, have the order of integers: one instruction on Hopper compares
// three of those).
#if MAXIMUM
#define IS_BETTER(a, b) ((a) > (b))
#else
#define IS_BETTER(a, b) ((a) < (b))
#endif

#if INT32
#define LIMIT (1 << 29)
#if MAXIMUM
#define NOTHING (-0x3fffffff)
#define IS_NOTHING(a) ((a) < -LIMIT)
#define BETTER(a, b) max(a, b)
#else
#define NOTHING 0x3fffffff
#define IS_NOTHING(a) ((a) > LIMIT)
#define BETTER(a, b) min(a, b)
#endif
#define SETTLED(a) (IS_NOTHING(a) ? NOTHING : (a))
#else
#if MAXIMUM
#define NOTHING (-INFINITY)
#define BETTER(a, b) fmax(a, b)
#define BETTER_BITS(a, b) max(a, b)
#else
#define NOTHING INFINITY
#define BETTER(a, b) fmin(a, b)
#define BETTER_BITS(a, b) min(a, b)
#endif
#define IS_NOTHING(a) ((a) == NOTHING)
#define SETTLED(a) (a)
#endif

// The best of three, by one instruction if there is one.
#if ORDERED && !INT32
#define BEST(a, b, c) as_float(BETTER_BITS(BETTER_BITS(as_int(a), as_int(b)), as_int(c)))
#else
#define BEST(a, b, c) BETTER(BETTER(a, b), c)
#endif

#define NOWHERE (-1)  // in paths: no vertex
