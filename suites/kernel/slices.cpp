// The parts of a problem that depend on a slice, and its shape for strategies and predictions.
#include <fmt/format.h>

#include <algorithm>

#include "lib/base/error.hpp"
#include "suites/kernel/problem.hpp"

namespace mgpu::kernel {
namespace {

[[noreturn]] void refuse_grid(const std::string& where, const std::string& why) {
  throw Error(ErrorKind::input, where + " " + why);
}

}  // namespace

Grid Problem::grid(const Stage& stage, const Slice& slice) const {
  const SliceNumbers numbers{static_cast<std::int64_t>(slice.begin),
                             static_cast<std::int64_t>(slice.size()),
                             static_cast<std::int64_t>(slice.end)};
  Grid made;
  if (stage.local.empty()) made.local = {0, 0, 0};
  for (std::size_t d = 0; d < stage.global.size(); ++d) {
    made.global[d] = stage.global[d].count(numbers);
    if (made.global[d] == 0)
      refuse_grid(descriptor.file + ": global",
                  fmt::format("is 0 in dimension {} for a slice of {} items", d, slice.size()));
    if (!stage.local.empty()) {
      made.local[d] = stage.local[d].count();
      if (made.global[d] % made.local[d] != 0) {
        refuse_grid(descriptor.file + ": global",
                    fmt::format("is {} in dimension {} for a slice of {} items, no multiple of "
                                "local, {}; expected: round_up(.., {})",
                                made.global[d], d, slice.size(), made.local[d], made.local[d]));
      }
    }
    if (offset && stage.global[d].depends_on_slice()) {
      // A dimension's offset is the global size of a slice with all items before this one.
      made.offset[d] = slice.begin == 0
                           ? 0
                           : stage.global[d].count({0, static_cast<std::int64_t>(slice.begin),
                                                    static_cast<std::int64_t>(slice.begin)});
    }
  }
  return made;
}

std::vector<Slice> Problem::extents(const Argument& argument, const Slice& slice) const {
  const Items before = std::min(slice.begin, argument.before),
              end = std::min(slice.end + argument.after, items);
  std::vector<Slice> all{{slice.begin - before, end}};
  if (argument.edge != Edge::periodic) return all;
  if (before < argument.before) all.push_back({items - (argument.before - before), items});
  if (const Items beyond = slice.end + argument.after - end; beyond > 0) all.push_back({0, beyond});
  return all;
}

const Swap* Problem::swap_of(std::size_t argument) const {
  const auto found = std::find_if(swaps.begin(), swaps.end(), [&](const Swap& one) {
    return one.in == argument || one.out == argument;
  });
  return found == swaps.end() ? nullptr : &*found;
}

Shape shape_of(const Problem& problem) {
  Shape shape;
  shape.items = problem.items;
  shape.unit = {problem.descriptor.unit};
  shape.granularity = problem.granularity;
  shape.rounds = problem.rounds;
  shape.result_on_devices = true;
  const auto items = static_cast<double>(problem.items);
  shape.ops = problem.operations > 0 ? problem.operations : items;
  shape.rate_unit =
      (problem.operations > 0 ? problem.descriptor.operations_unit : problem.descriptor.unit) +
      "/s";
  shape.cost.ops = shape.ops / items;
  for (const Argument& one : problem.args) {
    const auto bytes = static_cast<double>(one.bytes());
    if (one.is_input()) {
      shape.bytes_in += one.bytes();
      if (one.map == MapKind::replicate) {
        shape.cost.replicated += one.bytes();
      } else {
        shape.cost.in_bytes += bytes / items;
      }
    }
    if (!one.is_output()) continue;
    shape.bytes_out += one.bytes();
    if (!one.accumulates()) shape.cost.out_bytes += bytes / items;
  }
  return shape;
}

}  // namespace mgpu::kernel
