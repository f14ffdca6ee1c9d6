// Types of OpenCL C that arguments can have.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/units.hpp"
#include "suites/kernel/expression.hpp"

namespace mgpu::kernel {

enum class Base { i8, u8, i16, u16, i32, u32, i64, u64, f16, f32, f64, none };

struct ElementType {
  std::string name;  // as in OpenCL C: "float4"; "struct": of so many bytes
  Base base = Base::none;
  unsigned lanes = 1;  // that hold a value
  Bytes size = 0;      // with the fourth lane of a vector of three
  Bytes lane() const;  // of one lane; of a structure, all of it
  bool is_float() const { return base == Base::f16 || base == Base::f32 || base == Base::f64; }
};

// "float4", "uint"; "unsignedint" and the like as compilers say it. Nothing for others.
std::optional<ElementType> element_type(std::string_view name);
ElementType structure(Bytes size);

// A value of a lane. Halves are refused where descriptors give values (no host type).
void put_number(Base base, const Number& number, std::byte* to);
double number_at(Base base, const std::byte* from);
std::string text_at(const ElementType& type,
                    const std::byte* from);  // for messages: "(1, 2.5)", or bytes in hex
bool fits_base(Base base,
               const Number& number);  // can it be told from this type without loss of its kind?

}  // namespace mgpu::kernel
