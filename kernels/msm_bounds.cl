// Indices that kernels of an MSM leave one another in device memory. A fault of memory may damage them there. On a CPU device a kernel
// is part of its process, which would end with it: each such index is checked, and what is out of bounds is left out, so that the
// result is wrong and the verification says so. On a GPU its driver watches over what is read and written.
#ifdef MSM_ROLLED
#define IN_BOUNDS(index, size) ((index) < (size))
#else
#define IN_BOUNDS(index, size) true
#endif

// Of `entries` sorted entries: buckets longer than `limit`, and the partial sums of what they are cut into.
#define MOST_LONGS(entries, limit) ((entries) / (limit))
#define MOST_PARTIALS(entries, limit) (2 * MOST_LONGS(entries, limit))
