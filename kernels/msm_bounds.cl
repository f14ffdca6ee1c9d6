// Bounds checks of indices that kernels of an MSM leave one another in device memory, where a
// memory fault may damage them. On a CPU device a kernel is part of the process, which a bad index
// could end. So each index is checked there, and what is out of bounds is skipped: the result is
// wrong, and the verification reports it. On a GPU the driver checks accesses.
#ifdef MSM_ROLLED
#define IN_BOUNDS(index, size) ((index) < (size))
#else
#define IN_BOUNDS(index, size) true
#endif

// Largest numbers, among `entries` sorted entries, of buckets longer than `limit` and of the
// partial sums that they are cut into.
#define MOST_LONGS(entries, limit) ((entries) / (limit))
#define MOST_PARTIALS(entries, limit) (2 * MOST_LONGS(entries, limit))
