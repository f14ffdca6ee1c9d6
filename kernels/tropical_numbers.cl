// Numbers of the tropical semirings, in which a sum is the smaller (MAXIMUM 1: the larger) of two numbers and a product is their sum.
//
// NOTHING is the zero of sums: no edge. In fp32 it is an infinity, which stays what it is when numbers are added. In int32 it is half
// of the largest number: so no sum of two wraps around; of numbers up to 2^28, one that has it in it is beyond LIMIT, and one that
// has not is not (suites/tropical/problem.hpp).
//
// Given by -D: INT32, MAXIMUM (0, 1); ORDERED (1: no sum is below zero, so that the bits of fp32 numbers, and of the infinity, are
// ordered as integers are: three of those are compared by one instruction on Hopper).
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

// The best of three, where there is an instruction for it.
#if ORDERED && !INT32
#define BEST(a, b, c) as_float(BETTER_BITS(BETTER_BITS(as_int(a), as_int(b)), as_int(c)))
#else
#define BEST(a, b, c) BETTER(BETTER(a, b), c)
#endif

#define NOWHERE (-1)  // of paths: there is none
