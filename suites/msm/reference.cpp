// The reference on OpenSSL.
#include "suites/msm/reference.hpp"

#include <openssl/bn.h>
#include <openssl/ec.h>

#include "lib/base/error.hpp"

namespace mgpu::msm {
namespace {

template <class T, void (*destroy)(T*)>
struct Destroy {
  void operator()(T* p) const { destroy(p); }
};
using Number = std::unique_ptr<BIGNUM, Destroy<BIGNUM, BN_free>>;
using Context = std::unique_ptr<BN_CTX, Destroy<BN_CTX, BN_CTX_free>>;
using Group = std::unique_ptr<EC_GROUP, Destroy<EC_GROUP, EC_GROUP_free>>;
using Point = std::unique_ptr<EC_POINT, Destroy<EC_POINT, EC_POINT_free>>;

void need(bool ok) {
  if (!ok) throw Error(ErrorKind::internal, "msm: OpenSSL could not compute the reference");
}

Number number(const std::string& hex) {
  BIGNUM* n = nullptr;
  need(BN_hex2bn(&n, hex.c_str()) != 0);
  return Number(n);
}

// Exact sums of all s_i and of all i * s_i: at most 256 + 64 + 40 bits.
struct Moments {
  Limbs<6> plain{}, by_index{};
};

void add_product(Limbs<6>& sum, const Scalar& s, std::uint64_t factor) {
  Wide carry = 0;
  for (std::size_t k = 0; k < 6; ++k) {
    carry += static_cast<Wide>(sum[k]) + (k < 4 ? static_cast<Wide>(s[k]) * factor : 0);
    sum[k] = static_cast<std::uint64_t>(carry);
    carry >>= 64;
  }
}

std::string padded(const BIGNUM* n, std::size_t digits) {
  char* text = BN_bn2hex(n);
  need(text != nullptr);
  std::string hex(text);
  OPENSSL_free(text);
  for (char& c : hex) c = c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c;
  hex.erase(0, std::min(hex.find_first_not_of('0'), hex.size()));
  return std::string(digits - std::min(digits, hex.size()), '0') + hex;
}

}  // namespace

PlainPoint reference_sum(Curve curve, std::span<const Scalar> scalars, const KnownLogs& logs) {
  Moments moments;
  for (std::size_t i = 0; i < scalars.size(); ++i) {
    add_product(moments.plain, scalars[i], 1);
    add_product(moments.by_index, scalars[i], i);
  }
  const Context context(BN_CTX_new());
  need(context != nullptr);
  return with_curve(curve, [&](auto c) {
    using C = decltype(c);
    const Number p = number(to_hex(C::modulus)), r = number(to_hex(C::order)), a = number("0"),
                 b = number(std::to_string(C::b));
    const Number x = number(to_hex(C::x)), y = number(to_hex(C::y));
    const Group group(EC_GROUP_new_curve_GFp(p.get(), a.get(), b.get(), context.get()));
    need(group != nullptr);
    const Point generator(EC_POINT_new(group.get())), sum(EC_POINT_new(group.get()));
    need(generator && sum &&
         EC_POINT_set_affine_coordinates(group.get(), generator.get(), x.get(), y.get(),
                                         context.get()) == 1);

    const Number log = number("0"), other = number("0");
    need(BN_mod_mul(log.get(), number(to_hex(moments.plain)).get(),
                    number(to_hex(logs.first)).get(), r.get(), context.get()) == 1);
    need(BN_mod_mul(other.get(), number(to_hex(moments.by_index)).get(),
                    number(to_hex(logs.step)).get(), r.get(), context.get()) == 1);
    need(BN_mod_add(log.get(), log.get(), other.get(), r.get(), context.get()) == 1);
    need(EC_POINT_mul(group.get(), sum.get(), nullptr, generator.get(), log.get(), context.get()) ==
         1);

    constexpr std::size_t digits = C::limbs * 16;
    if (EC_POINT_is_at_infinity(group.get(), sum.get()) == 1)
      return PlainPoint{std::string(digits, '0'), std::string(digits, '0')};
    const Number sx = number("0"), sy = number("0");
    need(EC_POINT_get_affine_coordinates(group.get(), sum.get(), sx.get(), sy.get(),
                                         context.get()) == 1);
    return PlainPoint{padded(sx.get(), digits), padded(sy.get(), digits)};
  });
}

}  // namespace mgpu::msm
