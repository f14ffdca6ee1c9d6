// Arithmetic of descriptors: "(count + 2 * radius) * width". Compiled once for a problem, then
// cheap to evaluate for each slice.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace mgpu::kernel {

// An integer as long as only integers came together; division of integers drops the remainder, as
// in C.
struct Number {
  bool integer = true;
  std::int64_t i = 0;
  double d = 0;
  static Number of(std::int64_t value) { return {true, value, static_cast<double>(value)}; }
  static Number of(double value) { return {false, 0, value}; }
  double real() const { return integer ? static_cast<double>(i) : d; }
};

using Names = std::map<std::string, Number, std::less<>>;

// Of a slice, where an expression may depend on it.
struct SliceNumbers {
  std::int64_t begin = 0, count = 0, end = 0;
};

class Expression {
 public:
  Expression() = default;
  // `where` names the key for messages; `names` are folded in; `begin`, `count` and `end` are known
  // only where `slices`. Throws Error(input): a name that is not known, with the nearest known one,
  // or what is no expression.
  Expression(const std::string& where, std::string_view text, const Names& names, bool slices);

  // Throws Error(input): a division by zero, an overflow.
  Number evaluate(const SliceNumbers& slice = {}) const;
  // A size or a count: an integer from 0 to 2^53. Throws Error(input).
  std::uint64_t count(const SliceNumbers& slice = {}) const;
  bool depends_on_slice() const { return depends_; }
  bool empty() const { return steps_.empty(); }

 private:
  friend class ExpressionParser;
  enum class Op {
    push,
    begin,
    count,
    end,
    add,
    subtract,
    multiply,
    divide,
    remainder,
    negate,
    least,
    most,
    ceil_div,
    round_up
  };
  struct Step {
    Op op = Op::push;
    Number value;
  };
  Number apply(Op op, const Number& a, const Number& b) const;

  std::string where_, text_;
  std::vector<Step> steps_;
  bool depends_ = false;
};

}  // namespace mgpu::kernel
