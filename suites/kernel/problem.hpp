// A descriptor with the size and the parameters of a problem: every expression that does not depend
// on a slice has its value.
#pragma once

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "lib/workload/workload.hpp"
#include "suites/kernel/descriptor.hpp"

namespace mgpu::kernel {

// Parts of a buffer begin at multiples of this on every device there is known to be (NVIDIA asks
// for most).
inline constexpr Bytes kAlignment = 512;
constexpr Bytes aligned(Bytes n) { return round_up(n, kAlignment); }

struct Argument {
  std::string name, where;
  ElementType type;
  MapKind map = MapKind::split;
  Access access = Access::read;
  Edge edge = Edge::none;
  Reduction op = Reduction::add;
  Address address = Address::rebased;
  Fill fill;
  std::uint64_t modulo = 0;
  Number constant;
  bool sparse = false;
  std::filesystem::path expected;

  std::uint64_t per_item = 0;           // elements; of slice: of each row
  std::uint64_t before = 0, after = 0;  // items beside those of the slice
  std::uint64_t elements = 0;           // of the whole array; 0: it has none (scalar, local)
  std::uint64_t rows = 1;               // of slice: the array is rows of all items
  Bytes host = 0,
        result = 0;  // where what it begins with, and what becomes of it, begin in host memory
  Expression start, length, scalar, local;
  std::size_t offsets = 0;  // of ragged: the argument with the offsets
  std::size_t counter = 0;  // of append: the accumulator with the number of records
  // Of an accumulator that a kernel combines: its entry, how far what it makes may be from one
  // launch for all items, as what that is compared, and what it begins with.
  std::string combine;
  Tolerance tolerance;
  ElementType compared;
  std::vector<std::byte> initial;

  Bytes item() const { return per_item * type.size; }  // of split and halo
  Bytes bytes() const { return elements * type.size; }
  bool is_array() const { return map != MapKind::scalar && map != MapKind::local; }
  bool is_input() const {
    return is_array() && (access == Access::read || access == Access::readwrite);
  }
  bool is_output() const {
    return is_array() && (access == Access::write || access == Access::readwrite);
  }
  bool accumulates() const {
    return map == MapKind::reduce || map == MapKind::append;
  }  // over the slices of a device
  bool by_kernel() const { return !combine.empty(); }
  // Its bits depend on the order in which partial results are combined.
  bool by_blocks() const {
    return by_kernel() || (map == MapKind::reduce && op == Reduction::add && type.is_float());
  }
  Bytes stride() const {
    return aligned(bytes());
  }  // from the partial result of one block to the next one's
  // A slice's items are one piece of it.
  bool by_item() const { return map == MapKind::split || map == MapKind::halo; }
  bool rebased() const { return by_item() && address == Address::rebased; }
};

struct Stage {
  std::string entry;
  std::vector<std::size_t> args;
  std::vector<Expression> global, local;
};

// Two arguments of the same items: in every round but the first, `in` is what `out` was in the one
// before.
struct Swap {
  std::size_t in = 0, out = 0;
};

struct Problem {
  Descriptor descriptor;
  std::uint64_t n = 0;
  Items items = 0, granularity = 1;
  std::vector<Argument> args;
  std::vector<Stage> stages;
  std::uint32_t rounds = 0;  // 0: the kernels once for each slice
  std::vector<Swap> swaps;
  std::map<std::string, std::string> values;  // of the parameters, as text
  std::string options;                        // of the build, with values filled in
  bool offset = false;                        // slices begin at a global offset
  bool guards = true;
  std::uint64_t seed = 0;
  Items block =
      0;  // above 0: partial results are of blocks of so many items, each by a launch of its own
  double operations = 0;  // of the whole; 0: not given
  Bytes host_bytes = 0;   // of all inputs and results
  double moved = 0;       // bytes that the kernels read and write, likewise

  // Partial results that a kernel has to combine.
  bool combines() const {
    return blocks() > 1 && std::any_of(args.begin(), args.end(),
                                       [](const Argument& one) { return one.by_kernel(); });
  }
  Items blocks() const { return block == 0 ? 1 : ceil_div(items, block); }
  Grid grid(const Stage& stage, const Slice& slice) const;
  // Items of it that lie in the array, with those beside; with those of the other end, too, where
  // it is periodic.
  std::vector<Slice> extents(const Argument& argument, const Slice& slice) const;
  const Swap* swap_of(std::size_t argument) const;  // null: it is in none
};

// Throws Error(input), Error(usage).
Problem problem_of(Descriptor descriptor, const SuiteParams& params);
Problem problem_of(const SuiteParams& params);
// `--kernel`, as it is asked for: a file or the name of an example.
const Descriptor& descriptor_of(const SuiteParams& params);

Shape shape_of(const Problem& problem);

}  // namespace mgpu::kernel
