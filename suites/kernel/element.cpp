#include "suites/kernel/element.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

namespace mgpu::kernel {
namespace {

struct Known {
  std::string_view name, long_name;
  Base base;
};

constexpr std::array kTypes{
    Known{"char", "signedchar", Base::i8},    Known{"uchar", "unsignedchar", Base::u8},
    Known{"short", "signedshort", Base::i16}, Known{"ushort", "unsignedshort", Base::u16},
    Known{"int", "signedint", Base::i32},     Known{"uint", "unsignedint", Base::u32},
    Known{"long", "signedlong", Base::i64},   Known{"ulong", "unsignedlong", Base::u64},
    Known{"half", "half", Base::f16},         Known{"float", "float", Base::f32},
    Known{"double", "double", Base::f64}};

// Calls f with a value of the type that holds a lane.
template <class F>
void with_type(Base base, const F& f) {
  switch (base) {
    case Base::i8:
      return f(std::int8_t{});
    case Base::u8:
    case Base::none:
      return f(std::uint8_t{});
    case Base::i16:
      return f(std::int16_t{});
    case Base::u16:
    case Base::f16:
      return f(std::uint16_t{});
    case Base::i32:
      return f(std::int32_t{});
    case Base::u32:
      return f(std::uint32_t{});
    case Base::i64:
      return f(std::int64_t{});
    case Base::u64:
      return f(std::uint64_t{});
    case Base::f32:
      return f(float{});
    case Base::f64:
      return f(double{});
  }
}

std::string text_of_lane(Base base, const std::byte* from) {
  std::string text;
  with_type(base, [&](auto value) {
    std::memcpy(&value, from, sizeof value);
    if constexpr (sizeof value == 1) {
      text = fmt::format("{}", static_cast<int>(value));
    } else {
      text = fmt::format("{}", value);
    }
  });
  return text;
}

}  // namespace

Bytes size_of(Base base) {
  constexpr std::array<Bytes, 12> sizes{1, 1, 2, 2, 4, 4, 8, 8, 2, 4, 8, 1};
  return sizes[static_cast<std::size_t>(base)];
}

double usual_bound(Base base) {
  if (base == Base::f16 || base == Base::f32 || base == Base::f64) return 1;
  return base == Base::i8 ? 127 : 255;
}

std::string_view name_of(Base base) {
  for (const Known& known : kTypes)
    if (known.base == base) return known.name;
  return "struct";
}

Bytes ElementType::lane() const { return base == Base::none ? size : size_of(base); }

std::optional<ElementType> element_type(std::string_view name) {
  std::size_t digits = name.size();
  while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9') --digits;
  const std::string_view lanes = name.substr(digits), word = name.substr(0, digits);
  unsigned count = 1;
  if (!lanes.empty()) {
    constexpr std::array widths{"2", "3", "4", "8", "16"};
    constexpr std::array<unsigned, 5> counts{2, 3, 4, 8, 16};
    count = 0;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      if (lanes == widths[i]) count = counts[i];
    }
    if (count == 0) return std::nullopt;
  }
  for (const Known& known : kTypes) {
    if (word != known.name && word != known.long_name) continue;
    return ElementType{std::string(known.name) + std::string(lanes),   known.base, count,
                       size_of(known.base) * (count == 3 ? 4 : count), {},         1};
  }
  return std::nullopt;
}

ElementType structure(Bytes size) { return {"struct", Base::none, 1, size, {}, 1}; }

bool add_member(ElementType& structure, std::string_view type) {
  constexpr std::uint64_t kMost = 4096;
  std::uint64_t count = 1;
  if (const std::size_t bracket = type.find('['); bracket != std::string_view::npos) {
    const char* const end = type.data() + type.size();
    const auto read = std::from_chars(type.data() + bracket + 1, end, count);
    if (read.ec != std::errc() || read.ptr + 1 != end || *read.ptr != ']' || count == 0 ||
        count > kMost)
      return false;
    type = type.substr(0, bracket);
  }
  const auto member = element_type(type);
  if (!member || member->base == Base::f16) return false;
  for (std::uint64_t i = 0; i < count; ++i) {
    structure.size = round_up(structure.size, member->size);
    for (unsigned lane = 0; lane < member->lanes; ++lane)
      structure.members.push_back({member->base, structure.size + lane * member->lane()});
    structure.size += member->size;
  }
  // A vector is aligned to its size, which no lane tells.
  structure.alignment = std::max(structure.alignment, member->size);
  return true;
}

void end_members(ElementType& structure) {
  structure.size = round_up(structure.size, structure.alignment);
}

std::vector<Lane> lanes_of(const ElementType& type) {
  if (type.base == Base::none) return type.members;
  std::vector<Lane> lanes;
  for (unsigned lane = 0; lane < type.lanes; ++lane)
    lanes.push_back({type.base, lane * type.lane()});
  return lanes;
}

void put_number(Base base, const Number& number, std::byte* to) {
  with_type(base, [&](auto value) {
    using T = decltype(value);
    if constexpr (std::is_floating_point_v<T>) {
      value = static_cast<T>(number.real());
    } else {
      value = number.integer ? static_cast<T>(number.i)
                             : static_cast<T>(static_cast<std::int64_t>(number.d));
    }
    std::memcpy(to, &value, sizeof value);
  });
}

double number_at(Base base, const std::byte* from) {
  double result = 0;
  with_type(base, [&](auto value) {
    std::memcpy(&value, from, sizeof value);
    result = static_cast<double>(value);
  });
  return result;
}

std::string text_at(const ElementType& type, const std::byte* from) {
  std::string text;
  if (!type.members.empty()) {
    constexpr std::size_t kMost = 8;
    for (std::size_t i = 0; i < std::min(type.members.size(), kMost); ++i)
      text += (i > 0 ? ", " : "") + text_of_lane(type.members[i].base, from + type.members[i].at);
    return "{" + text + (type.members.size() > kMost ? ", .." : "") + "}";
  }
  if (type.base == Base::none || type.base == Base::f16) {
    for (Bytes i = 0; i < std::min<Bytes>(type.size, 16); ++i)
      text += fmt::format("{:02x}", static_cast<unsigned>(from[i]));
    return text + (type.size > 16 ? ".." : "");
  }
  for (unsigned lane = 0; lane < type.lanes; ++lane) {
    if (lane > 0) text += ", ";
    text += text_of_lane(type.base, from + lane * type.lane());
  }
  return type.lanes > 1 ? "(" + text + ")" : text;
}

bool fits_base(Base base, const Number& number) {
  if (base == Base::f16 || base == Base::none) return false;
  if (base == Base::f32 || base == Base::f64) return std::isfinite(number.real());
  if (!number.integer) return false;
  bool fits = false;
  with_type(base, [&](auto value) {
    using T = decltype(value);
    if constexpr (std::is_integral_v<T>) {
      fits = std::is_signed_v<T>
                 ? number.i >= static_cast<std::int64_t>(std::numeric_limits<T>::min()) &&
                       (sizeof(T) == 8 ||
                        number.i <= static_cast<std::int64_t>(std::numeric_limits<T>::max()))
                 : number.i >= 0 && (sizeof(T) == 8 ||
                                     number.i <= static_cast<std::int64_t>(
                                                     std::numeric_limits<T>::max() & INT64_MAX));
    }
  });
  return fits;
}

}  // namespace mgpu::kernel
