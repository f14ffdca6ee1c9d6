// Makes score vectors of regression models from rows of a design matrix, for kernels/fisher_gram.cl
// to sum up. Row x of a model with classes y stands for CLASSES score vectors sqrt(p_y) (e_y - p)
// (x) x, whose sum of s s^T is the expectation over y: (diag p - p p^T) (x) x x^T. Logistic: one
// vector, sqrt(p (1 - p)) x.
//
// Given by -D: REAL64, LANES (1 here), CLASSES (1: logistic), WIDTH (elements of a row).
#include "fisher_math.cl"

// Computes the factors of each row, CLASSES per row: p, or for CLASSES 1 the root of p (1 - p).
// Work-item r takes row first + r.
__kernel void probabilities(__global const real* restrict design, const uint stride, const ulong first, const ulong rows,
                            __global const real* restrict params, __global real* restrict p) {
  const ulong row = get_global_id(0);
  if (row >= rows) return;
  __global const real* x = design + (first + row) * stride;
  p += row * CLASSES;
  for (uint y = 0; y < CLASSES; ++y) {
    real logit = R(0.0);
    for (uint k = 0; k < WIDTH; ++k) logit = fma(params[y * WIDTH + k], x[k], logit);
    p[y] = logit;
  }
#if CLASSES == 1
  // p (1 - p) = t / (1 + t)^2 with t = e^-|logit|, which avoids cancellation; its root is the one
  // factor.
  const real t = exp_of(-fabs(p[0]));
  p[0] = sqrt(t) / (R(1.0) + t);
#else
  real largest = p[0], sum = R(0.0);
  for (uint y = 1; y < CLASSES; ++y) largest = fmax(largest, p[y]);
  for (uint y = 0; y < CLASSES; ++y) sum += p[y] = exp_of(p[y] - largest);
  for (uint y = 0; y < CLASSES; ++y) p[y] /= sum;
#endif
}

// Computes element `column` of score vector r = begin + get_global_id(1) of `vectors`: that of row
// first + r / CLASSES and class r % CLASSES.
__kernel void make_scores(__global const real* restrict design, const uint stride, const ulong first, const ulong begin,
                          const ulong vectors, __global const real* restrict p, __global real* restrict scores,
                          const uint score_stride) {
  const uint column = (uint)get_global_id(0);
  const ulong vector = begin + get_global_id(1), row = vector / CLASSES;
  if (column >= CLASSES * WIDTH || vector >= vectors) return;
  const uint y = (uint)(vector % CLASSES), other = column / WIDTH;
  const real x = design[(first + row) * stride + column % WIDTH];
#if CLASSES == 1
  const real factor = p[row];
#else
  // 1 - p_y is the sum of the others: nothing cancels when p_y is near 1.
  real off = R(0.0);
  for (uint k = 0; k < CLASSES; ++k) off += k == y ? R(0.0) : p[row * CLASSES + k];
  const real factor = sqrt(p[row * CLASSES + y]) * (other == y ? off : -p[row * CLASSES + other]);
#endif
  scores[vector * score_stride + column] = factor * x;
}
