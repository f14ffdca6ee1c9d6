#include "suites/kernel/element.hpp"

#include <fmt/format.h>

#include <array>
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

Bytes size_of(Base base) {
  constexpr std::array<Bytes, 12> sizes{1, 1, 2, 2, 4, 4, 8, 8, 2, 4, 8, 1};
  return sizes[static_cast<std::size_t>(base)];
}

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

}  // namespace

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
    return ElementType{std::string(known.name) + std::string(lanes), known.base, count,
                       size_of(known.base) * (count == 3 ? 4 : count)};
  }
  return std::nullopt;
}

ElementType structure(Bytes size) { return {"struct", Base::none, 1, size}; }

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
  if (type.base == Base::none || type.base == Base::f16) {
    for (Bytes i = 0; i < std::min<Bytes>(type.size, 16); ++i)
      text += fmt::format("{:02x}", static_cast<unsigned>(from[i]));
    return text + (type.size > 16 ? ".." : "");
  }
  for (unsigned lane = 0; lane < type.lanes; ++lane) {
    if (lane > 0) text += ", ";
    with_type(type.base, [&](auto value) {
      std::memcpy(&value, from + lane * type.lane(), sizeof value);
      if constexpr (sizeof value == 1) {
        text += fmt::format("{}", static_cast<int>(value));
      } else {
        text += fmt::format("{}", value);
      }
    });
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
