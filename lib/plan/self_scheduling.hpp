// The published rules of self-scheduling: how large the next chunk is. In granules, and in the
// order of the requests; who asks, what fits a device and what is in flight are the matter of a
// source. As implemented in DLS4LB (DLS.c) and, HGuided, in the OpenCL and SYCL runtimes of the
// EngineCL family (work.hpp); the rounding is theirs, but for a hair.
#pragma once

#include "lib/base/units.hpp"

namespace mgpu {

enum class ChunkRule {
  // c = ceil(R P_i / K), P_i the device's share of all speed: K = 2 is what EngineCL uses. The
  // papers write k n for K. With equal
  // devices and K = 1 it is guided self-scheduling, c = ceil(R / p) (Polychronopoulos and Kuck,
  // 1987).
  hguided,
  // Batches of p chunks all alike, each batch 1/K of what is left: c = ceil(R / K p) (Hummel,
  // Schonberg, Flynn, 1992: K = 2).
  factoring,
  // The same, each chunk times the device's share of all speed over an even share (Hummel, Schmidt,
  // Uma, Wein, 1996).
  weighted_factoring,
  // From f = ceil(N / K p) in even steps down to the minimum (Tzen and Ni, 1993: K = 2, minimum 1).
  trapezoid,
};

// Rounded up, unless it is less than half a percent and a tenth above a whole number: shares are
// measured, and where one GPU was a thousandth faster, nine granules instead of 8.004 cost products
// a wave of tiles more.
double ceil_of(double x);

class ChunkSizes {
 public:
  // `left`: granules to hand out; `devices`: p, at least 1; `least`: the last chunk of trapezoid.
  ChunkSizes(ChunkRule rule, double k, Items left, std::size_t devices, Items least = 1);

  // The next chunk for a device with this share of all speed (0..1), of `left` granules; from
  // `least` to `left`.
  Items next(Items left, double share, Items least) const;
  void taken(Items left);  // that chunk was handed out, and `left` remain
  // Work came back or devices left: begins anew with what is left.
  void restart(Items left, std::size_t devices);

 private:
  void begin_batch(Items left);

  ChunkRule rule_;
  double k_;
  std::size_t devices_ = 1;
  Items last_;          // trapezoid
  double current_ = 0;  // the chunk of this batch, or of this step
  double step_ = 0;     // trapezoid: what every chunk is smaller than the one before
  std::size_t batch_left_ = 0;
};

}  // namespace mgpu
