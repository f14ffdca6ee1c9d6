// How a problem is cut into windows, what that costs, and what a device must store for it. Pure
// functions.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "lib/plan/slice_source.hpp"
#include "lib/workload/workload.hpp"
#include "suites/msm/curve.hpp"

namespace mgpu::msm {

enum class Axis { points, windows, sums };

// Mode in which points stay on the devices, as those of a proving key do, while scalars are
// uploaded, since they change from proof to proof.
inline constexpr Mode scalars_mode{"scalars", false, true};

// Partition of the bits of a scalar into `count` windows from the lowest bit: `wide` windows of
// `bits` bits, then windows of one bit less, so that together they have exactly the bits needed.
// (With equal widths, the top window would have only a few bits, and all points would share few
// buckets.) A signed digit has 2^(bits - 1) buckets; a narrow window leaves the upper half of its
// buckets empty. See kernels/msm_sort.cl.
//
// `shared`: all windows share one set of buckets. For this, a table has each point multiplied by
// 2^(first bit of the window).
struct Windows {
  unsigned bits = 0, count = 0, wide = 0;
  bool shared = false;
  constexpr std::uint32_t buckets() const { return std::uint32_t{1} << (bits - 1); }
  constexpr std::uint32_t fewest_buckets() const {
    return wide < count ? buckets() / 2 : buckets();
  }
  constexpr unsigned sets() const { return shared ? 1 : count; }  // sets of buckets
  constexpr std::uint64_t all_buckets() const { return std::uint64_t{sets()} * buckets(); }
  // Returns the number of buckets that can be filled.
  constexpr std::uint64_t used_buckets() const {
    if (shared) return wide > 0 ? buckets() : fewest_buckets();
    return std::uint64_t{wide} * buckets() + std::uint64_t{count - wide} * fewest_buckets();
  }
  // Returns the mean number of digits in the fullest buckets if `points` scalars are uniform. In a
  // shared set, the lower half has digits of all windows.
  constexpr double digits_in_fullest(std::uint64_t points) const {
    const double of_narrow = static_cast<double>(points) / fewest_buckets();
    return shared ? of_narrow * (count - wide) + static_cast<double>(points) / buckets() * wide
                  : of_narrow;
  }
  constexpr unsigned bits_of(unsigned window) const { return window < wide ? bits : bits - 1; }
  constexpr unsigned first_bit(unsigned window) const {
    return window * bits - (window > wide ? window - wide : 0);
  }
  // Returns the number of windows that the lowest `length` bits reach.
  constexpr unsigned reached(unsigned length) const {
    const unsigned wide_bits = wide * bits;
    return length <= wide_bits ? ceil_div(length, bits)
                               : wide + (length - wide_bits + bits - 2) / (bits - 1);
  }
  bool operator==(const Windows&) const = default;
};
constexpr unsigned least_window = 2, largest_window = 22;

// Returns as many windows as `bits` bits each would take, of even width. `fold`: scalars above r /
// 2 are negated, which saves the bit that the sign of the digits takes.
Windows windows_of(Curve curve, bool fold, unsigned bits, bool shared = false);

// Most entries that windows with shared buckets sort at once, in several passes over the same
// points, so that entries are written fast. With 2^24 points an entry takes an H100 62 to 68 ps, 85
// ps with half this number (each pass computes the digits again), and 150 ps in a single pass.
constexpr std::uint64_t entries_together = std::uint64_t{1} << 25;
unsigned passes_of(const Windows& windows, std::uint64_t points,
                   std::uint64_t together = entries_together);
unsigned windows_of_pass(const Windows& windows, std::uint64_t points,
                         std::uint64_t together = entries_together);

// Limits of the speed. throughput (CPUs): a mixed addition per digit and two full ones per
// bucket. latency (GPUs): in addition, the digits of the longest bucket are added one after
// another, and the levels of halving follow one another.
enum class Limit { throughput, latency };
// Returns the cheapest windows for `points` points on one device, by the measured costs in
// windows.cpp.
Windows best_windows(Curve curve, bool fold, Limit limit, std::uint64_t points);
// Both return the cheapest windows that share their buckets; `faster_` returns nothing if windows
// with own buckets are cheaper.
Windows best_shared_windows(Curve curve, bool fold, Limit limit, std::uint64_t points);
std::optional<Windows> faster_shared_windows(Curve curve, bool fold, Limit limit,
                                             std::uint64_t points);
// Returns the cheapest windows if they are split over `devices`: the slowest device has ceil(count
// / devices) of them.
Windows best_split_windows(Curve curve, bool fold, Limit limit, std::uint64_t points,
                           std::size_t devices);

// Histogram of the scalars' bit lengths after folding.
using BitLengths = std::array<std::uint64_t, 257>;
BitLengths bit_lengths(Curve curve, bool fold, std::span<const Scalar> scalars,
                       unsigned threads = 1);
// Returns the multiply-adds of 32-bit words (each yields half of a product) with the window size
// that needs fewest: a mixed addition per digit, two full ones per bucket. Nothing else of the
// algorithm needs the multiplier. `shared`: as in Windows. Each of `sums` has buckets of its own.
double least_multiply_adds(Curve curve, bool fold, const BitLengths& lengths, bool shared,
                           std::uint64_t sums = 1);

// One pass over a slice: `points` scalars in `windows` windows. A bucket is cut into tasks of at
// most `limit` points.
struct Pass {
  std::uint64_t points = 0, buckets = 0;  // `buckets` counts those of all windows of the slice
  unsigned windows = 0;
  std::uint32_t limit = 0;
  std::uint64_t entries() const { return points * windows; }
  std::uint64_t tasks() const;  // an upper bound
};
// Returns the pass for `count` of these windows.
Pass pass_of(const DeviceTraits& device, std::uint64_t points, unsigned count,
             const Windows& windows);

constexpr std::uint32_t scan_block = 2048;  // BLOCK_LOG of kernels/msm_sort.cl
constexpr std::uint32_t plan_lengths = 4;   // PLAN_LENGTHS of kernels/msm_sort.cl
constexpr std::uint32_t least_limit = 16,
                        // Counters of a work-group take 16 KiB of local memory.
    largest_limit = 4096;

// Sizes in bytes of a program's buffers, each at least one element.
struct Layout {
  unsigned point_slots = 1, scalar_slots = 1;  // 2: uploaded per slice
  Bytes points = 0, scalars = 0;               // size of one copy
  Bytes codes = 0, ranks = 0, entries = 0, counts = 0, bases = 0, plan = 0, tasks = 0, longs = 0,
        partials = 0;
  Bytes buckets = 0, scratch = 0, results = 0, maker = 0;
  Bytes total() const;
  Bytes largest() const;
};
struct Problem {
  Curve curve = Curve::bn254;
  Axis axis = Axis::points;
  std::uint64_t points = 0;
  std::vector<Windows> windows;  // candidates for a sample; several for Axis::points only
  bool known_logs = false;       // the logarithms of the points are known
  // Windows that share their buckets by a table of multiples of the points, made before the clock
  // starts. Used on devices that it fits; with `must_share`, other devices are excluded.
  std::optional<Windows> shared_windows{};
  bool must_share = false;
  std::uint64_t together = entries_together;
  std::uint64_t sums = 1;  // over the same points; above 1 with Axis::sums only
  Items items() const;
};
// Tells whether the device has that table; never if points are uploaded during samples.
bool has_table(const DeviceTraits& device, const Problem& problem, Mode mode);
// Tells whether the points are made on the device. For a CPU device the host makes them, which is
// faster, and they need no transfer.
bool made_on_device(const DeviceTraits& device, const Problem& problem, Mode mode);
Layout layout(const DeviceTraits& device, const Problem& problem, Mode mode, Items fits);
Capacity capacity(const DeviceTraits& device, const Problem& problem, Mode mode);

}  // namespace mgpu::msm
