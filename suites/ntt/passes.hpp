// The passes of transforms on one device: kernels, tables of roots of unity, and launches.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "suites/ntt/problem.hpp"

namespace mgpu::ntt {

// A kernel variant.
struct Variant {
  unsigned tile = 0;  // bytes of a tile in local memory; 0: a work-item computes a whole tile
  std::string name() const;
};
// Returns the variants for a device, best first.
std::vector<Variant> variants(const DeviceTraits& device);

// Returns the -D options of kernels/ntt_field.cl.
std::string field_options(Field field, const DeviceTraits& device);

// Argument of the kernels in kernels/ntt.cl. Counts and strides are in elements.
struct Pass {
  // Elements of a transform; log2 of its n1 and n2; number of the first transform in the input's
  // buffer and in the output's.
  std::uint32_t n, row_bits, column_bits, in_at, out_at;
  // Transforms of a buffer from a transform to the next one, in the input of `columns` and in the
  // output; where in the table the powers of a coset's shift begin.
  std::uint32_t in_step, out_step, shift;
  // Input of `columns`: columns of its rows, that of the share's first column, and rows from an
  // element of a column to the next, and from a block to the next.
  std::uint32_t in_width, in_first, in_row, in_hi;
  // Columns of the share, also of the output's rows; the first one's number in the transform;
  // tiles of a block; rows of the output as of the input.
  std::uint32_t width, first, across, out_row, out_hi;
  // Element k of a column is multiplied by w to the power of (block hi_exponent + column) k
  // 2^exponent_shift.
  std::uint32_t hi_exponent, exponent_shift;
  // The table of roots, after the powers of the first one: where small and large powers of w begin;
  // log2 of the number of small ones, which 1/n follows; where the factors of the second of two
  // passes over columns begin, by element of a column and number of the column.
  std::uint32_t low, high, low_bits, direct;
  // Rows of the share; devices that computed columns; whether `rows` multiplies by 1/n.
  std::uint32_t rows, owners, scaled;
};

inline constexpr std::size_t most_devices = 8;  // that share a transform

// Columns that devices have of each row that a device computes: the first column after them, the
// columns of their rows, the place of column 0 of the share's first row, which wraps around, and
// whether it is in the device's own memory or in that which others put into.
struct Sources {
  struct Source {
    std::uint32_t end, width, place, here;
  };
  std::array<Source, most_devices> at{};
};

// Rows of a share that devices have: the first row after them, and the place of row 0, which wraps
// around, in their memory for the columns of others.
struct Targets {
  std::array<std::uint32_t, most_devices> end{}, place{};
};

class Passes {
 public:
  // `targets`: number of devices that columns may be stored to at once, up to most_devices. Throws
  // Error(unsupported), Error(out_of_memory), Error(device).
  Passes(const Problem& problem, DeviceResources& device, const Variant& variant,
         std::size_t targets = 0);

  const Variant& variant() const { return variant_; }
  // Uploads the tables, once.
  void load(Stream& stream);
  // Range of columns of a transform, in the order in which they are in memory.
  struct Columns {
    std::uint64_t first = 0, end = 0;
    std::uint64_t size() const { return end - first; }
  };
  // Consecutive transforms, the number of the first one in the buffers that are read and written,
  // and the distance from one to the next in the latter; the coset of Problem::cosets.
  struct Transforms {
    std::uint64_t count = 1, in = 0, out = 0, out_step = 1, coset = 0;
  };
  // Computes whole transforms; `between` has room for as many.
  void whole(const Transforms& transforms, Buffer& in, Buffer& between, Buffer& out,
             Stream& stream);
  // Transforms columns and writes rows of them to `out`, beginning with its first transform. `in`
  // has whole rows of n2 columns, or only these columns; in reversed order each column is
  // contiguous. `between` (Transforms::out) has room for as many elements. With `to`, memory of
  // each device by the order of their rows, rows are stored there and not to `out`.
  void columns(const Columns& share, bool in_is_whole, const Transforms& transforms, Buffer& in,
               Buffer& between, Buffer& out, Stream& stream, std::span<Buffer* const> to = {},
               const Targets& targets = {});
  // Transforms `rows` rows, whose columns are in `here` and in `there` as `sources` says.
  void rows(std::uint64_t rows, const Transforms& transforms, Buffer& here, Buffer& there,
            const Sources& sources, std::size_t owners, Buffer& out, Stream& stream);

 private:
  struct Kernels {
    std::unique_ptr<Kernel> kernel;
    std::uint64_t width = 1;  // columns of a tile
    std::size_t group = 1;
  };
  Kernels make(const char* name, std::size_t pass, DeviceResources& device,
               const std::string& more = {}) const;
  std::uint64_t factors(std::size_t pass) const;  // where in the table a pass's factors begin
  std::uint64_t shift_elements() const;           // of the table, for one coset
  // Return log2 of the elements that a work-item has in registers: at most, and in a pass over
  // 2^bits.
  unsigned most_each_bits() const;
  unsigned each_bits(unsigned bits) const;
  // Returns a pass with what all passes have in common.
  Pass pass(const Transforms& transforms) const;

  const Problem problem_;
  const Variant variant_;
  const std::vector<unsigned> bits_;  // of the passes
  std::vector<Kernels> columns_;      // of the passes but the last
  Kernels to_targets_;                // of the last pass over columns
  Kernels rows_;
  std::vector<std::byte> table_;
  std::uint64_t shifts_ = 0;  // where in the table the powers of the first shift begin
  std::unique_ptr<Buffer> on_device_;
  bool loaded_ = false;
};

}  // namespace mgpu::ntt
