// A descriptor together with the size and the parameters of a problem: every expression that does
// not depend on a slice has its value.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/workload/workload.hpp"
#include "suites/kernel/descriptor.hpp"

namespace mgpu::kernel {

// Least alignment of sub-buffers: that of NVIDIA, which suits most others. Apple requires 4096.
inline constexpr Bytes kAlignment = 512;

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

  std::uint64_t per_item = 0;           // elements; for MapKind::slice: elements per row
  std::uint64_t before = 0, after = 0;  // halo items on both sides of a slice
  Bytes alignment = kAlignment;         // Problem::alignment
  std::uint64_t elements = 0;           // elements of the whole array; 0: no array (scalar, local)
  std::optional<ImageShape> image;      // MapKind::image
  std::uint64_t rows = 1;               // MapKind::slice: each row of the array has all items
  // Offsets in host memory of the initial contents and of the result.
  Bytes host = 0, result = 0;
  Expression start, length, scalar, local;
  std::vector<Expression> members;  // values of a structure's numbers that is a scalar
  Expression pivot;                 // the item that every device has in an iteration; empty: none
  std::size_t offsets = 0;          // MapKind::ragged: argument with the offsets
  std::size_t counter = 0;          // MapKind::append: accumulator that counts the records
  std::size_t copied = 0;           // FillKind::copy: argument whose initial values these are
  // Accumulators that a kernel combines: entry of that kernel; tolerance of its result against one
  // launch for all items; element type for this comparison; initial contents.
  std::string combine;
  Tolerance tolerance;
  ElementType compared;
  std::vector<std::byte> initial;

  Bytes item() const { return per_item * type.size; }  // size of an item of split and halo
  Bytes bytes() const { return elements * type.size; }
  bool is_array() const { return map != MapKind::scalar && map != MapKind::local; }
  bool is_input() const {
    return is_array() && (access == Access::read || access == Access::readwrite);
  }
  bool is_output() const {
    return is_array() && (access == Access::write || access == Access::readwrite);
  }
  // Tells whether it collects results over the slices of a device.
  bool accumulates() const { return map == MapKind::reduce || map == MapKind::append; }
  bool by_kernel() const { return !combine.empty(); }
  // Tells whether its bits depend on the order in which partial results are combined.
  bool by_blocks() const {
    return by_kernel() || (map == MapKind::reduce && op == Reduction::add && type.is_float());
  }
  // Returns the distance between the partial results of consecutive blocks.
  Bytes stride() const { return round_up(bytes(), alignment); }
  // Tells whether the items of a slice are contiguous in the array.
  bool by_item() const { return map == MapKind::split || map == MapKind::halo; }
  bool rebased() const { return by_item() && address == Address::rebased; }
  // Tells whether every device changes an array of its own, and all of them alike.
  bool is_changed_alike() const { return map == MapKind::replicate && access == Access::readwrite; }
};

struct Stage {
  std::string entry, name;
  // Stages of a level do not depend on each other and run side by side, after those of all lower
  // levels.
  std::uint32_t level = 0;
  std::vector<bool> follows;  // whether it depends on a stage, by the order in Problem::stages
  std::vector<std::size_t> args;
  std::vector<Expression> global, local;
  // First item that it computes, with index 0 of the kernel, and the end; empty: all items.
  Expression first, stop;
};

// An array whose items devices exchange. Two arguments: in every round but the first, `in` has the
// contents that `out` had after the round before. One (`in` is `out`): kernels change it in place.
struct Field {
  std::size_t in = 0, out = 0;
  bool in_place() const { return in == out; }
};

// Says what trial slices have around each argument: poison, more of it, or (`exact`) nothing.
enum class Guards { on, off, wide, exact };

struct Problem {
  Descriptor descriptor;
  std::uint64_t n = 0;
  Items items = 0, granularity = 1;
  Bytes alignment = kAlignment;  // parts of buffers begin at multiples of it
  std::vector<Argument> args;
  std::vector<Stage> stages;  // by level
  std::uint32_t rounds = 0;   // 0: no iteration, the kernels run once per slice
  std::vector<Field> fields;
  // Argument that ends the rounds when it is 0 after one of them.
  std::optional<std::size_t> flag;
  std::map<std::string, std::string> values;  // values of the parameters, as text
  std::string options;                        // build options, with values filled in
  bool offset = false;                        // slices begin at a global offset
  Guards guards = Guards::on;
  bool beside = true;  // run stages of a level side by side
  std::uint64_t seed = 0;
  // Above 0: partial results are per block of this many items, each computed by its own launch.
  Items block = 0;
  double operations = 0;    // operations of the whole problem; 0: not given
  Bytes host_bytes = 0;     // size of all inputs and results
  double moved = 0;         // bytes that the kernels read and write; 0: not given
  std::size_t devices = 1;  // most devices that share the problem

  // Tells whether there are partial results that a kernel has to combine.
  bool combines() const {
    return blocks() > 1 && std::any_of(args.begin(), args.end(),
                                       [](const Argument& one) { return one.by_kernel(); });
  }
  Items blocks() const { return block == 0 ? 1 : ceil_div(items, block); }
  // Returns the numbers of a launch that computes a slice in a round. They count from the first
  // item of the stage's range. Throws Error(input) if the range is not among the items.
  SliceNumbers numbers(const Stage& stage, const Slice& slice, std::uint32_t round) const;
  // Returns nothing if there is nothing to launch: no item of the range is in the slice, or a size
  // that depends on the round is 0.
  std::optional<Grid> grid(const Stage& stage, const SliceNumbers& numbers) const;
  // Returns the range of items that a slice needs in a round, including its halo, clipped to the
  // array. If the argument is periodic, ranges at the other end of the array follow; then the
  // pivot.
  std::vector<Slice> extents(const Argument& argument, const Slice& slice,
                             std::uint32_t round = 0) const;
  std::uint32_t levels() const { return stages.back().level + 1; }
  // Tells whether a stage may need what another slice computes in the same round.
  bool is_tried_together() const {
    const bool in_place =
        std::any_of(fields.begin(), fields.end(), [](const Field& one) { return one.in_place(); });
    return levels() > 1 && rounds > 0 && (in_place || has_accumulators());
  }
  bool has_accumulators() const {
    return std::any_of(args.begin(), args.end(),
                       [](const Argument& one) { return one.accumulates(); });
  }
  // Returns how the stages of a level use an argument in a round: not at all, `write` if a stage
  // may write it, else `read`. Ignores stages that no device launches. `writes` tells whether a
  // stage may write it.
  std::optional<Access> use_of(std::size_t argument, std::uint32_t level, std::uint32_t round,
                               const std::function<bool(std::size_t)>& writes) const;
  const Field* field_of(std::size_t argument) const;  // null if it is not exchanged
};

// Evaluates a descriptor for a problem. Throws Error(input), Error(usage).
Problem problem_of(Descriptor descriptor, const SuiteParams& params);
Problem problem_of(const SuiteParams& params);
// Returns the descriptor that `--kernel` names: a file or a built-in example.
const Descriptor& descriptor_of(const SuiteParams& params);

Shape shape_of(const Problem& problem);

}  // namespace mgpu::kernel
