// Multi-scalar multiplication by OpenSSL, one term at a time: about 0.8 ms per term. Shares nothing
// with suites/msm but the constants of the curves, which it takes as text.
#pragma once

#include <openssl/bn.h>
#include <openssl/ec.h>

#include <memory>
#include <string>
#include <vector>

namespace mgpu::testing {

struct OracleTerm {
  std::string scalar, x, y;  // hex; infinity: x = y = 0
};

// A point of y^2 = x^3 + b over the field of `p`, or infinity, as hex in lower case without leading
// zeros ("0" for zero).
struct OraclePoint {
  std::string x, y;
};

class CurveOracle {
 public:
  CurveOracle(const std::string& p, unsigned b, const std::string& order)
      : context_(BN_CTX_new(), BN_CTX_free),
        p_(number(p)),
        order_(number(order)),
        group_(nullptr, EC_GROUP_free) {
    const Number a = number("0"), b_number = number(std::to_string(b));
    group_.reset(EC_GROUP_new_curve_GFp(p_.get(), a.get(), b_number.get(), context_.get()));
  }

  // Returns the sum of (scalar mod r) times the point; points need not be in the subgroup.
  OraclePoint sum(const std::vector<OracleTerm>& terms) const {
    Point sum = point(), product = point();
    EC_POINT_set_to_infinity(group_.get(), sum.get());
    for (const OracleTerm& term : terms) {
      const Number x = number(term.x), y = number(term.y), scalar = number(term.scalar);
      if (BN_is_zero(x.get()) && BN_is_zero(y.get())) continue;
      BN_nnmod(scalar.get(), scalar.get(), order_.get(), context_.get());
      const Point p = point();
      if (EC_POINT_set_affine_coordinates(group_.get(), p.get(), x.get(), y.get(),
                                          context_.get()) != 1)
        return {"not", "on the curve"};
      // Multiplies bit by bit: EC_POINT_mul would reduce by a group order that a curve with a
      // cofactor does not have.
      EC_POINT_set_to_infinity(group_.get(), product.get());
      for (int bit = BN_num_bits(scalar.get()); bit-- > 0;) {
        EC_POINT_dbl(group_.get(), product.get(), product.get(), context_.get());
        if (BN_is_bit_set(scalar.get(), bit))
          EC_POINT_add(group_.get(), product.get(), product.get(), p.get(), context_.get());
      }
      EC_POINT_add(group_.get(), sum.get(), sum.get(), product.get(), context_.get());
    }
    if (EC_POINT_is_at_infinity(group_.get(), sum.get())) return {"0", "0"};
    const Number x = number("0"), y = number("0");
    EC_POINT_get_affine_coordinates(group_.get(), sum.get(), x.get(), y.get(), context_.get());
    return {hex(x.get()), hex(y.get())};
  }

  // Returns a point of any order with the least x from `start` upwards; y comes from a square root.
  OraclePoint some_point(unsigned start) const {
    for (unsigned x = start;; ++x) {
      const Number x_number(BN_new(), BN_free), y = number("0");
      BN_set_word(x_number.get(), x);
      const Point p = point();
      if (EC_POINT_set_compressed_coordinates(group_.get(), p.get(), x_number.get(), 0,
                                              context_.get()) != 1)
        continue;
      EC_POINT_get_affine_coordinates(group_.get(), p.get(), x_number.get(), y.get(),
                                      context_.get());
      return {hex(x_number.get()), hex(y.get())};
    }
  }

 private:
  using Number = std::unique_ptr<BIGNUM, void (*)(BIGNUM*)>;
  using Point = std::unique_ptr<EC_POINT, void (*)(EC_POINT*)>;

  static Number number(const std::string& hex) {
    BIGNUM* n = nullptr;
    BN_hex2bn(&n, hex.starts_with("0x") ? hex.c_str() + 2 : hex.c_str());
    return Number(n, BN_free);
  }
  static std::string hex(const BIGNUM* n) {
    char* text = BN_bn2hex(n);
    std::string result(text);
    OPENSSL_free(text);
    for (char& c : result) c = c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c;
    result.erase(0, std::min(result.find_first_not_of('0'), result.size() - 1));
    return result;
  }
  Point point() const { return Point(EC_POINT_new(group_.get()), EC_POINT_free); }

  std::unique_ptr<BN_CTX, void (*)(BN_CTX*)> context_;
  Number p_, order_;
  std::unique_ptr<EC_GROUP, void (*)(EC_GROUP*)> group_;
};

}  // namespace mgpu::testing
