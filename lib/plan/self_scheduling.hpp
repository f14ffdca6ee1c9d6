// Published rules of self-scheduling: the size of the next chunk. Sizes are in granules, and follow
// the order of the requests; a source handles which device asks, what fits it and what is in
// flight. As implemented in DLS4LB (DLS.c) and, for HGuided, in the OpenCL and SYCL runtimes of the
// EngineCL family (work.hpp), with their rounding except for ceil_of.
#pragma once

#include "lib/base/units.hpp"

namespace mgpu {

enum class ChunkRule {
  // c = ceil(R P_i / K), where P_i is the device's share of the total speed: K = 2 is what EngineCL
  // uses. The papers write k n for K. With equal devices and K = 1 it is guided self-scheduling, c
  // = ceil(R / p) (Polychronopoulos and Kuck, 1987).
  hguided,
  // Batches of p equal chunks, each batch 1/K of the remaining work: c = ceil(R / K p) (Hummel,
  // Schonberg, Flynn, 1992: K = 2).
  factoring,
  // Factoring, with each chunk multiplied by the device's share of the total speed over an even
  // share (Hummel, Schmidt, Uma, Wein, 1996).
  weighted_factoring,
  // From f = ceil(N / K p) in even steps down to the minimum (Tzen and Ni, 1993: K = 2, minimum 1).
  trapezoid,
};

// Rounds up, unless x is less than half a percent and a tenth above a whole number. Shares are
// measured: when one GPU was a thousandth faster, nine granules instead of 8.004 cost products an
// additional wave of tiles.
double ceil_of(double x);

class ChunkSizes {
 public:
  // `left`: granules to hand out; `devices`: p, at least 1; `least`: the last chunk of trapezoid.
  ChunkSizes(ChunkRule rule, double k, Items left, std::size_t devices, Items least = 1);

  // Returns the next chunk, of `left` granules, for a device with this share of the total speed
  // (0..1); from `least` to `left`.
  Items next(Items left, double share, Items least) const;
  void taken(Items left);  // that chunk was handed out, and `left` remain
  // Begins again with `left` granules, after work came back or devices were lost.
  void restart(Items left, std::size_t devices);

 private:
  void begin_batch(Items left);

  ChunkRule rule_;
  double k_;
  std::size_t devices_ = 1;
  Items last_;          // last chunk of trapezoid
  double current_ = 0;  // chunk of this batch, or of this step
  double step_ = 0;     // trapezoid: difference between consecutive chunks
  std::size_t batch_left_ = 0;
};

}  // namespace mgpu
