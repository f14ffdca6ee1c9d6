// OpenCL C types that arguments can have.
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

// A number of an element: its type, and its offset.
struct Lane {
  Base base = Base::none;
  Bytes at = 0;
};

struct ElementType {
  std::string name;  // OpenCL C name ("float4"), or "struct" for a structure of `size` bytes
  Base base = Base::none;
  unsigned lanes = 1;         // lanes that hold a value
  Bytes size = 0;             // includes the padding lane of a vector of three
  std::vector<Lane> members;  // numbers of a structure; empty: they are not known
  Bytes alignment = 1;        // of a structure with known members
  Bytes lane() const;         // size of one lane; of a structure, its whole size
  bool is_float() const { return base == Base::f16 || base == Base::f32 || base == Base::f64; }
};

// Returns the type of a name such as "float4" or "uint", or of a compiler's spelling such as
// "unsignedint"; nothing for other names.
std::optional<ElementType> element_type(std::string_view name);
ElementType structure(Bytes size);
// Adds a member to a structure, where a compiler places it: "float4", or "int[3]". Returns false if
// it is no such type.
bool add_member(ElementType& structure, std::string_view type);
// Rounds the size of a structure up to its alignment.
void end_members(ElementType& structure);
// Returns the numbers of an element; none of a structure whose members are not known.
std::vector<Lane> lanes_of(const ElementType& type);
Bytes size_of(Base base);
std::string_view name_of(Base base);  // "float"
// Returns the default upper bound of uniform values. Integers that are all 0 would hide a wrong
// map.
double usual_bound(Base base);

// Writes the value of one lane. Descriptors cannot give values of halves, which have no host type.
void put_number(Base base, const Number& number, std::byte* to);
double number_at(Base base, const std::byte* from);
// Formats an element for a message: "(1, 2.5)", or its bytes in hexadecimal.
std::string text_at(const ElementType& type, const std::byte* from);
// Tells whether a lane of this type can represent the number.
bool fits_base(Base base, const Number& number);

}  // namespace mgpu::kernel
