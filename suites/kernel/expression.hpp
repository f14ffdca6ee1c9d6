// Arithmetic expressions of descriptors, such as "(count + 2 * radius) * width". They are compiled
// once per problem, so that evaluating them for each slice is cheap.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace mgpu::kernel {

// Value of an expression: an integer if all operands are integers. Integer division drops the
// remainder, as in C.
struct Number {
  bool integer = true;
  std::int64_t i = 0;
  double d = 0;
  static Number of(std::int64_t value) { return {true, value, static_cast<double>(value)}; }
  static Number of(double value) { return {false, 0, value}; }
  double real() const { return integer ? static_cast<double>(i) : d; }
};

using Names = std::map<std::string, Number, std::less<>>;

// Numbers of a launch that an expression may use: those of its slice, and the iteration.
struct SliceNumbers {
  std::int64_t begin = 0, count = 0, end = 0, round = 0;
};

// Variables that an expression may use in addition to the names.
enum class Variables { none, round, slice, slice_and_round };

class Expression {
 public:
  Expression() = default;
  // Compiles `text`. `where` names the key in messages; `names` become constants; `begin`, `count`,
  // `end` and `round` are known only as `variables` says. Throws Error(input) if the text is no
  // expression or has an unknown name, with the nearest known one.
  Expression(const std::string& where, std::string_view text, const Names& names,
             Variables variables = Variables::none);

  // Throws Error(input) on division by zero and on overflow.
  Number evaluate(const SliceNumbers& slice = {}) const;
  // Evaluates a size or a count: an integer from 0 to 2^53. Throws Error(input).
  std::uint64_t count(const SliceNumbers& slice = {}) const;
  bool depends_on_slice() const { return on_slice_; }
  bool depends_on_round() const { return on_round_; }
  bool empty() const { return steps_.empty(); }

 private:
  friend class ExpressionParser;
  enum class Op {
    push,
    begin,
    count,
    end,
    round,
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
  bool on_slice_ = false, on_round_ = false;
};

}  // namespace mgpu::kernel
