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

SliceNumbers Problem::numbers(const Stage& stage, const Slice& slice, std::uint32_t round) const {
  const SliceNumbers of_round{.round = round};
  std::uint64_t first = 0, stop = items;
  if (!stage.first.empty()) {
    first = stage.first.count(of_round);
    stop = stage.stop.count(of_round);
    if (first > stop || stop > items)
      refuse_grid(
          descriptor.file + ": range",
          fmt::format("is {} to {}{}; expected: two numbers in order, of at most {} items", first,
                      stop, rounds > 1 ? fmt::format(" in round {}", round) : "", items));
  }
  const std::uint64_t begin = std::clamp(slice.begin, first, stop) - first,
                      end = std::clamp(slice.end, first, stop) - first;
  return {static_cast<std::int64_t>(begin), static_cast<std::int64_t>(end - begin),
          static_cast<std::int64_t>(end), round};
}

std::optional<Grid> Problem::grid(const Stage& stage, const SliceNumbers& numbers) const {
  if (numbers.count == 0) return std::nullopt;
  Grid made;
  if (stage.local.empty()) made.local = {0, 0, 0};
  for (std::size_t d = 0; d < stage.global.size(); ++d) {
    made.global[d] = stage.global[d].count(numbers);
    if (made.global[d] == 0 && stage.global[d].depends_on_round()) return std::nullopt;
    if (made.global[d] == 0)
      refuse_grid(descriptor.file + ": global",
                  fmt::format("is 0 in dimension {} for a slice of {} {}; expected: 1 or more, or "
                              "items.granularity, of which slices are multiples",
                              d, numbers.count, numbers.count == 1 ? "item" : "items"));
    if (!stage.local.empty()) {
      made.local[d] = stage.local[d].count();
      if (made.global[d] % made.local[d] != 0) {
        refuse_grid(descriptor.file + ": global",
                    fmt::format("is {} in dimension {} for a slice of {} items, no multiple of "
                                "local, {}; expected: round_up(.., {})",
                                made.global[d], d, numbers.count, made.local[d], made.local[d]));
      }
    }
    if (offset && stage.global[d].depends_on_slice()) {
      // A dimension's offset is the global size of a slice with all items before this one.
      made.offset[d] =
          numbers.begin == 0
              ? 0
              : stage.global[d].count({0, numbers.begin, numbers.begin, numbers.round});
    }
  }
  return made;
}

std::optional<Access> Problem::use_of(std::size_t argument, std::uint32_t level,
                                      std::uint32_t round,
                                      const std::function<bool(std::size_t)>& writes) const {
  std::optional<Access> use;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    const Stage& stage = stages[s];
    const bool takes =
        std::find(stage.args.begin(), stage.args.end(), argument) != stage.args.end();
    if (stage.level != level || !takes || !grid(stage, numbers(stage, {0, items}, round))) continue;
    if (writes(s)) return Access::write;
    use = Access::read;
  }
  return use;
}

std::vector<Slice> Problem::extents(const Argument& argument, const Slice& slice,
                                    std::uint32_t round) const {
  const Items before = std::min(slice.begin, argument.before),
              end = std::min(slice.end + argument.after, items);
  std::vector<Slice> all{{slice.begin - before, end}};
  if (argument.edge == Edge::periodic) {
    if (before < argument.before) all.push_back({items - (argument.before - before), items});
    if (const Items beyond = slice.end + argument.after - end; beyond > 0)
      all.push_back({0, beyond});
  }
  if (!argument.pivot.empty()) {
    const Items pivot = argument.pivot.count({.round = round});
    if (pivot >= items)
      refuse_grid(argument.where + ".map.pivot",
                  fmt::format("is {} in round {}, of {} items", pivot, round, items));
    if (pivot < all.front().begin || pivot >= all.front().end) all.push_back({pivot, pivot + 1});
  }
  return all;
}

const Field* Problem::field_of(std::size_t argument) const {
  const auto found = std::find_if(fields.begin(), fields.end(), [&](const Field& one) {
    return one.in == argument || one.out == argument;
  });
  return found == fields.end() ? nullptr : &*found;
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
      if (one.map == MapKind::replicate || one.map == MapKind::image) {
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
