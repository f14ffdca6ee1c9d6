// UNROLL, written before a loop, unrolls it.
//
// Given by -D: ROLLED: loops stay loops, since some compilers for CPUs take minutes for unrolled
// sums.
#ifdef ROLLED
#define UNROLL
#else
#define UNROLL _Pragma("unroll")
#endif
