#include "suites/kernel/layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace mgpu::kernel {
namespace {

std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

// Adds items [first, end) of a rebased halo whose buffer begins with `first`. Items outside of the
// array follow its edge mode.
void add_halo(const Argument& one, std::int64_t items, std::int64_t first, std::int64_t end,
              std::vector<Move>& moves) {
  const Bytes item = one.item();
  const auto add = [&](std::int64_t at, std::int64_t from, std::int64_t count, bool zeros) {
    moves.push_back({static_cast<Bytes>(at - first) * item,
                     zeros ? 0 : static_cast<Bytes>(from) * item, static_cast<Bytes>(count) * item,
                     1, 0, zeros});
  };
  const std::int64_t low = std::max<std::int64_t>(first, 0), high = std::min(end, items);
  if (low < high) add(low, low, high - low, false);
  const auto beside = [&](std::int64_t from, std::int64_t to) {
    for (std::int64_t at = from; at < to; ++at) {
      if (one.edge == Edge::zero) add(at, 0, 1, true);
      if (one.edge == Edge::clamp) add(at, std::clamp<std::int64_t>(at, 0, items - 1), 1, false);
      if (one.edge == Edge::periodic) add(at, ((at % items) + items) % items, 1, false);
    }
  };
  beside(first, std::min<std::int64_t>(end, 0));
  beside(std::max(first, items), end);
}

template <class T>
void combine_as(Reduction op, const std::byte* from, std::byte* into, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    T a, b;
    std::memcpy(&a, into + i * sizeof(T), sizeof(T));
    std::memcpy(&b, from + i * sizeof(T), sizeof(T));
    if (op == Reduction::min || op == Reduction::max) {
      const bool replaces = op == Reduction::min ? b < a : a < b;
      if (replaces || b != b) a = b;  // NaN persists, whichever operand has it
    } else if constexpr (std::is_floating_point_v<T>) {
      a = a + b;
    } else {
      using U = std::make_unsigned_t<T>;
      const auto x = static_cast<U>(a), y = static_cast<U>(b);
      a = static_cast<T>(op == Reduction::add       ? static_cast<U>(x + y)
                         : op == Reduction::bit_xor ? static_cast<U>(x ^ y)
                         : op == Reduction::bit_or  ? static_cast<U>(x | y)
                                                    : static_cast<U>(x & y));
    }
    std::memcpy(into + i * sizeof(T), &a, sizeof(T));
  }
}

}  // namespace

std::vector<Move> input_moves(const Problem& problem, std::span<const std::byte> inputs,
                              std::size_t argument, const Slice& slice) {
  const Argument& one = problem.args[argument];
  std::vector<Move> moves;
  if (!one.is_input()) return moves;
  const auto begin = static_cast<std::int64_t>(slice.begin),
             end = static_cast<std::int64_t>(slice.end);
  const auto elements = [&](double first, double count) {
    const bool inside =
        first >= 0 && count >= 0 && first + count <= static_cast<double>(one.elements);
    if (!inside) {
      throw Error(
          ErrorKind::input,
          fmt::format(
              "{}.map: elements {} to {} of slice [{}, {}) are not among the {} of the array",
              one.where, first, first + count, slice.begin, slice.end, one.elements));
    }
    const Bytes at = static_cast<Bytes>(first) * one.type.size;
    if (count > 0)
      moves.push_back({at, at, static_cast<Bytes>(count) * one.type.size, 1, 0, false});
  };
  switch (one.map) {
    case MapKind::split:
    case MapKind::halo:
      if (one.rebased()) {
        add_halo(one, static_cast<std::int64_t>(problem.items),
                 begin - static_cast<std::int64_t>(one.before),
                 end + static_cast<std::int64_t>(one.after), moves);
      } else {
        for (const Slice& wide : problem.extents(one, slice))
          moves.push_back({wide.begin * one.item(), wide.begin * one.item(),
                           wide.size() * one.item(), 1, 0, false});
      }
      break;
    case MapKind::slice:
      moves.push_back({slice.begin * one.item(), slice.begin * one.item(),
                       slice.size() * one.item(), one.rows, problem.items * one.item(), false});
      break;
    case MapKind::fixed: {
      const SliceNumbers numbers{begin, end - begin, end};
      elements(one.start.evaluate(numbers).real(), one.length.evaluate(numbers).real());
      break;
    }
    case MapKind::ragged: {
      const Argument& offsets = problem.args[one.offsets];
      const auto at = [&](std::int64_t item) {
        return number_at(offsets.type.base, inputs.data() + offsets.host +
                                                static_cast<Bytes>(item) * offsets.type.size);
      };
      elements(at(begin), at(end) - at(begin));
      break;
    }
    case MapKind::replicate:
    case MapKind::image:
      elements(0, static_cast<double>(one.elements));
      break;
    default:
      break;
  }
  return moves;
}

std::vector<Move> output_moves(const Problem& problem, std::size_t argument, const Slice& slice) {
  const Argument& one = problem.args[argument];
  if (!one.is_output() || one.accumulates()) return {};
  if (one.is_changed_alike()) return {{0, 0, one.bytes(), 1, 0, false}};
  const Bytes host = slice.begin * one.item(),
              device = one.rebased() ? one.before * one.item() : host;
  if (one.map == MapKind::slice)
    return {{host, host, slice.size() * one.item(), one.rows, problem.items * one.item(), false}};
  return {{device, host, slice.size() * one.item(), 1, 0, false}};
}

Bytes slice_bytes(const Problem&, const Argument& one, const Slice& slice) {
  return one.rebased() ? (slice.size() + one.before + one.after) * one.item() : one.bytes();
}

Bytes slice_offset(const Argument& one, const Slice& of, const Slice& slice) {
  return one.rebased() ? (slice.begin - of.begin) * one.item() : 0;
}

void put_identity(const Argument& one, std::span<std::byte> to) {
  if (one.by_kernel()) {
    std::memcpy(to.data(), one.initial.data(), one.initial.size());
    return;
  }
  std::byte lane[8];
  const auto highest = [&](bool high) {
    switch (one.type.base) {
      case Base::i8:
        return Number::of(std::int64_t{high ? INT8_MAX : INT8_MIN});
      case Base::u8:
        return Number::of(std::int64_t{high ? UINT8_MAX : 0});
      case Base::i16:
        return Number::of(std::int64_t{high ? INT16_MAX : INT16_MIN});
      case Base::u16:
        return Number::of(std::int64_t{high ? UINT16_MAX : 0});
      case Base::i32:
        return Number::of(std::int64_t{high ? INT32_MAX : INT32_MIN});
      case Base::u32:
        return Number::of(std::int64_t{high ? UINT32_MAX : 0});
      case Base::i64:
        return Number::of(std::int64_t{high ? INT64_MAX : INT64_MIN});
      case Base::u64:
        return Number::of(std::int64_t{high ? -1 : 0});
      default:
        return Number::of(high ? HUGE_VAL : -HUGE_VAL);
    }
  };
  Number number = Number::of(std::int64_t{0});
  if (one.op == Reduction::min) number = highest(true);
  if (one.op == Reduction::max) number = highest(false);
  if (one.op == Reduction::bit_and) number = Number::of(std::int64_t{-1});
  put_number(one.type.base, number, lane);
  const Bytes size = one.type.lane();
  for (Bytes at = 0; at + size <= to.size(); at += size) std::memcpy(to.data() + at, lane, size);
}

void combine(const Argument& one, std::span<const std::byte> from, std::span<std::byte> into) {
  const std::size_t count = from.size() / one.type.lane();
  switch (one.type.base) {
    case Base::i8:
      return combine_as<std::int8_t>(one.op, from.data(), into.data(), count);
    case Base::u8:
      return combine_as<std::uint8_t>(one.op, from.data(), into.data(), count);
    case Base::i16:
      return combine_as<std::int16_t>(one.op, from.data(), into.data(), count);
    case Base::u16:
      return combine_as<std::uint16_t>(one.op, from.data(), into.data(), count);
    case Base::i32:
      return combine_as<std::int32_t>(one.op, from.data(), into.data(), count);
    case Base::u32:
      return combine_as<std::uint32_t>(one.op, from.data(), into.data(), count);
    case Base::i64:
      return combine_as<std::int64_t>(one.op, from.data(), into.data(), count);
    case Base::u64:
      return combine_as<std::uint64_t>(one.op, from.data(), into.data(), count);
    case Base::f32:
      return combine_as<float>(one.op, from.data(), into.data(), count);
    case Base::f64:
      return combine_as<double>(one.op, from.data(), into.data(), count);
    default:
      throw Error(ErrorKind::internal, "an accumulator of a type that nothing combines");
  }
}

std::uint64_t count_in(const Argument& counter, std::span<const std::byte> from) {
  const auto as = [&]<class Count>(Count count) {
    std::memcpy(&count, from.data(), sizeof count);
    return std::uint64_t{count};
  };
  switch (counter.type.size) {
    case 1:
      return as(std::uint8_t{});
    case 2:
      return as(std::uint16_t{});
    case 4:
      return as(std::uint32_t{});
    default:
      return as(std::uint64_t{});
  }
}

void Records::add(const Argument& one, std::span<const std::byte> records, std::uint64_t count) {
  wanted += count;
  const auto held = static_cast<std::ptrdiff_t>(std::min(count, one.elements) * one.type.size);
  bytes.insert(bytes.end(), records.begin(), records.begin() + held);
}

void Records::put(const Argument& one, std::span<std::byte> to) const {
  if (wanted > one.elements)
    throw Error(ErrorKind::input, fmt::format("{}.size is {}, and the kernel appends {} records",
                                              one.where, one.elements, wanted));
  const Bytes size = one.type.size;
  std::vector<const std::byte*> order;
  for (Bytes at = 0; at + size <= bytes.size(); at += size) order.push_back(bytes.data() + at);
  const bool numbers = one.type.base != Base::none && one.type.base != Base::f16;
  const auto rank = [&](const std::byte* at) {
    const double value = number_at(one.type.base, at);
    return std::isnan(value) ? HUGE_VAL : value;
  };
  std::sort(order.begin(), order.end(), [&](const std::byte* a, const std::byte* b) {
    for (unsigned lane = 0; numbers && lane < one.type.lanes; ++lane) {
      const double x = rank(a + lane * one.type.lane()), y = rank(b + lane * one.type.lane());
      if (x < y || y < x) return x < y;
    }
    return std::memcmp(a, b, one.type.lane() * one.type.lanes) < 0;
  });
  std::fill(to.begin(), to.end(), std::byte{0});
  for (std::size_t i = 0; i < order.size(); ++i)
    std::memcpy(to.data() + i * size, order[i], one.type.lane() * one.type.lanes);
}

std::int64_t item_of(const Problem& problem, const Argument& one, const Slice& slice,
                     std::int64_t element) {
  if (one.per_item == 0) return element;
  const auto per_item = static_cast<std::int64_t>(one.per_item);
  const std::int64_t item = floor_div(element, per_item);
  if (one.map == MapKind::slice) {
    const auto items = static_cast<std::int64_t>(problem.items);
    return item - floor_div(item, items) * items;
  }
  return one.rebased()
             ? item + static_cast<std::int64_t>(slice.begin) - static_cast<std::int64_t>(one.before)
             : item;
}

}  // namespace mgpu::kernel
