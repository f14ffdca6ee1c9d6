#include "suites/kernel/expression.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/base/quote.hpp"

namespace mgpu::kernel {
namespace {

constexpr unsigned kDeepest = 64;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

[[noreturn]] void refuse(const std::string& where, std::string_view text, const std::string& why) {
  throw Error(ErrorKind::input, where + ": " + in_quotes(text) + " " + why);
}

}  // namespace

// Recursive-descent parser that emits steps of a stack machine.
class ExpressionParser {
 public:
  ExpressionParser(Expression& into, const Names& names, Variables variables)
      : into_(into), text_(into.text_), names_(names) {
    if (variables == Variables::slice || variables == Variables::slice_and_round)
      variables_ = {{"begin", Op::begin}, {"count", Op::count}, {"end", Op::end}};
    if (variables == Variables::round || variables == Variables::slice_and_round)
      variables_.emplace_back("round", Op::round);
  }

  void read() {
    sum();
    skip();
    if (at_ < text_.size())
      refuse("has " + in_quotes(text_.substr(at_, 8)) +
             " where an operator or its end is expected");
  }

 private:
  using Op = Expression::Op;

  [[noreturn]] void refuse(const std::string& why) const {
    kernel::refuse(into_.where_, text_, why);
  }
  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }
  bool take(char c) {
    skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void add(Op op, Number value = {}) { into_.steps_.push_back({op, value}); }

  void sum() {
    if (++depth_ > kDeepest) refuse("is nested too deeply");
    product();
    for (;;) {
      if (take('+')) {
        product();
        add(Op::add);
      } else if (take('-')) {
        product();
        add(Op::subtract);
      } else {
        break;
      }
    }
    --depth_;
  }

  void product() {
    factor();
    for (;;) {
      if (take('*')) {
        factor();
        add(Op::multiply);
      } else if (take('/')) {
        factor();
        add(Op::divide);
      } else if (take('%')) {
        factor();
        add(Op::remainder);
      } else {
        break;
      }
    }
  }

  void factor() {
    unsigned minus = 0;
    while (take('-')) ++minus;
    skip();
    if (take('(')) {
      sum();
      if (!take(')')) refuse("lacks a closing parenthesis");
    } else if (at_ < text_.size() && (is_digit(text_[at_]) || text_[at_] == '.')) {
      number();
    } else if (at_ < text_.size() && is_letter(text_[at_])) {
      name();
    } else {
      refuse(text_.empty() ? "is empty; expected: an arithmetic expression"
                           : "is no arithmetic expression");
    }
    if (minus % 2 == 1) add(Op::negate);
  }

  void number() {
    const char* const begin = text_.data() + at_;
    const char* const end = text_.data() + text_.size();
    std::int64_t whole = 0;
    const auto as_integer = std::from_chars(begin, end, whole);
    double real = 0;
    const auto as_real = std::from_chars(begin, end, real);
    if (as_real.ec != std::errc() || !std::isfinite(real))
      refuse("has a number that cannot be read");
    if (as_integer.ec == std::errc() && as_integer.ptr == as_real.ptr) {
      add(Op::push, Number::of(whole));
    } else {
      add(Op::push, Number::of(real));
    }
    at_ += static_cast<std::size_t>(as_real.ptr - begin);
  }

  void name() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) ++at_;
    const std::string_view word = text_.substr(begin, at_ - begin);
    if (take('(')) return call(word);
    for (const auto& [known, op] : variables_) {
      if (word != known) continue;
      (op == Op::round ? into_.on_round_ : into_.on_slice_) = true;
      return add(op);
    }
    if (const auto found = names_.find(word); found != names_.end())
      return add(Op::push, found->second);
    std::vector<std::string> known;
    for (const auto& entry : names_) known.push_back(entry.first);
    for (const auto& variable : variables_) known.push_back(variable.first);
    if (word == "round")
      refuse(
          "uses \"round\", the number of the iteration; expected only in scalars, launches and "
          "pivots, together with repeat");
    refuse("uses " + in_quotes(word) + ", which is no parameter" +
           (known.empty() ? "" : did_you_mean(word, known)));
  }

  void call(std::string_view word) {
    constexpr std::array functions{std::pair{"min", Op::least}, std::pair{"max", Op::most},
                                   std::pair{"ceil_div", Op::ceil_div},
                                   std::pair{"round_up", Op::round_up}};
    for (const auto& [known, op] : functions) {
      if (word != known) continue;
      sum();
      if (!take(',')) refuse("gives " + std::string(word) + " one argument; it takes two");
      sum();
      if (!take(')')) refuse("lacks a closing parenthesis");
      return add(op);
    }
    refuse("calls " + in_quotes(word) + "; expected: min, max, ceil_div, round_up");
  }

  Expression& into_;
  std::string_view text_;
  const Names& names_;
  std::vector<std::pair<std::string, Op>> variables_;
  std::size_t at_ = 0;
  unsigned depth_ = 0;
};

Expression::Expression(const std::string& where, std::string_view text, const Names& names,
                       Variables variables)
    : where_(where), text_(text) {
  ExpressionParser(*this, names, variables).read();
}

Number Expression::apply(Op op, const Number& a, const Number& b) const {
  const bool divides =
      op == Op::divide || op == Op::remainder || op == Op::ceil_div || op == Op::round_up;
  if (divides && b.real() == 0) refuse(where_, text_, "divides by zero");
  if (!a.integer || !b.integer) {
    const double x = a.real(), y = b.real();
    double z = 0;
    switch (op) {
      case Op::add:
        z = x + y;
        break;
      case Op::subtract:
        z = x - y;
        break;
      case Op::multiply:
        z = x * y;
        break;
      case Op::divide:
        z = x / y;
        break;
      case Op::remainder:
        z = std::fmod(x, y);
        break;
      case Op::least:
        z = std::fmin(x, y);
        break;
      case Op::most:
        z = std::fmax(x, y);
        break;
      case Op::ceil_div:
        z = std::ceil(x / y);
        break;
      default:
        z = std::ceil(x / y) * y;
        break;
    }
    return Number::of(z);
  }
  std::int64_t z = 0;
  bool over = false;
  switch (op) {
    case Op::add:
      over = __builtin_add_overflow(a.i, b.i, &z);
      break;
    case Op::subtract:
      over = __builtin_sub_overflow(a.i, b.i, &z);
      break;
    case Op::multiply:
      over = __builtin_mul_overflow(a.i, b.i, &z);
      break;
    case Op::least:
      z = std::min(a.i, b.i);
      break;
    case Op::most:
      z = std::max(a.i, b.i);
      break;
    default: {
      if (a.i == INT64_MIN && b.i == -1) {
        over = true;
        break;
      }
      const std::int64_t quotient = a.i / b.i, rest = a.i % b.i,
                         up = quotient + (rest != 0 && (rest < 0) == (b.i < 0) ? 1 : 0);
      if (op == Op::divide) z = quotient;
      if (op == Op::remainder) z = rest;
      if (op == Op::ceil_div) z = up;
      if (op == Op::round_up) over = __builtin_mul_overflow(up, b.i, &z);
    }
  }
  if (over) refuse(where_, text_, "is beyond 64 bits");
  return Number::of(z);
}

Number Expression::evaluate(const SliceNumbers& slice) const {
  std::array<Number, 2 * kDeepest + 8> stack;
  std::size_t top = 0;
  const auto push = [&](const Number& number) {
    if (top == stack.size()) refuse(where_, text_, "is nested too deeply");
    stack[top++] = number;
  };
  for (const Step& step : steps_) {
    switch (step.op) {
      case Op::push:
        push(step.value);
        break;
      case Op::begin:
        push(Number::of(slice.begin));
        break;
      case Op::count:
        push(Number::of(slice.count));
        break;
      case Op::end:
        push(Number::of(slice.end));
        break;
      case Op::round:
        push(Number::of(slice.round));
        break;
      case Op::negate: {
        const Number zero = Number::of(std::int64_t{0});
        stack[top - 1] = stack[top - 1].integer ? apply(Op::subtract, zero, stack[top - 1])
                                                : Number::of(-stack[top - 1].d);
        break;
      }
      default:
        --top;
        stack[top - 1] = apply(step.op, stack[top - 1], stack[top]);
    }
  }
  return top == 1 ? stack[0] : Number{};
}

std::uint64_t Expression::count(const SliceNumbers& slice) const {
  constexpr double most = 9007199254740992.0;  // 2^53
  const Number value = evaluate(slice);
  const double real = value.real();
  if (!(real >= 0) || real > most || real != std::floor(real))
    refuse(where_, text_,
           "is " + (value.integer ? std::to_string(value.i) : std::to_string(real)) +
               "; expected: an integer from 0 to 2^53");
  return value.integer ? static_cast<std::uint64_t>(value.i) : static_cast<std::uint64_t>(real);
}

}  // namespace mgpu::kernel
